"""A legacy database behind PgBouncer, in the two modes that people use."""

import pytest

from harness.example import Store
from tests.integration.backfill.command import Command
from tests.integration.backfill.conftest import Serve
from tests.integration.backfill.legacy import LegacyDatabase
from tests.pgbouncer import PGBOUNCER, pgbouncer

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed")


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_every_mode_works_behind_a_pooler(
    legacy: LegacyDatabase, serve: Serve, store: Store, mode: str
) -> None:
    legacy.fill(1500, legacy.workspace(), legacy.workspace())
    direct = serve()
    with pgbouncer(legacy.url, mode, pool_size=1) as url:
        backfill = Command(url, direct.plugin_url, direct.directory)
        for arguments in (("-dry-run",), ("-apply",), ("-verify", "--verify-all"), ("-apply",)):
            outcome = backfill(*arguments)
            assert outcome.code == 0, outcome.err
    assert len(store.home) == 1500
