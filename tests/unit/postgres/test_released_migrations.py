"""A migration that was released stays as it is: a database that applied another text is refused."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[3]
# Add a line with each new migration; never change one.
RELEASED = {
    "conversations/schema/0001_tables.sql": "f63c1e101921d84d",
    "conversations/schema/0002_search.sql": "c4612873233e8372",
    "conversations/schema/0003_words_index.sql": "80e9af722107ee36",
    "conversations/schema/0004_hot_appends.sql": "6457854ec24fbf64",
    "conversations/schema/0005_append_types.sql": "2a012d76278c0c1a",
    "conversations/schema/0006_append_rows.sql": "fe24bb401357c46d",
    "conversations/schema/0007_texts_without_words.sql": "54eb95faed85525f",
    "gateway/migrations/0001_tables.sql": "9dfb0b585c2ef7ff",
    "gateway/migrations/0002_buffering.sql": "95145fb73ef722ec",
    "gateway/migrations/0003_scope_version.sql": "53a919e4641dba3f",
    "gateway/migrations/0004_messages_of_a_session.sql": "36b0373eba649bc0",
    "gateway/migrations/0005_added_messages.sql": "fc5efe8ca58d72f9",
    "plugin_postgres/migrations/0001_tables.sql": "58a963ae3aaae762",
    "plugin_postgres/migrations/0002_search.sql": "1ea5a513bef2e0d9",
    "plugin_postgres/migrations/0003_embeddings.sql": "732c753be64af6ac",
    "plugin_postgres/migrations/0004_rollback.sql": "926659ae8e140b33",
    "plugin_postgres/migrations/0005_words.sql": "f77aed9ab8e66ebe",
    "plugin_postgres/migrations/0006_half_precision.sql": "75b52e151a881690",
    "plugin_postgres/migrations/0007_short_texts.sql": "7246fd57f7aa3096",
    "plugin_postgres/migrations/0008_pending_list.sql": "6a810d2cce02a0bd",
    "plugin_postgres/migrations/0009_families.sql": "6a9779d15f54d9c4",
    "recall/schema/0001_tables.sql": "2e11329e02c1276c",
    "recall/schema/0002_plain_blocks.sql": "d887e1e69968e08b",
}


def test_every_migration_is_as_it_was_released() -> None:
    files = [*ROOT.glob("*/migrations/0*.sql"), *ROOT.glob("*/schema/0*.sql")]
    found = {
        file.relative_to(ROOT).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for file in files
    }
    assert found == RELEASED
