"""Which releases may serve a database that a later one has migrated."""

from conversations.statements import SCHEMA


def test_the_release_before_the_minutes_may_be_restarted_beside_the_one_with_them() -> None:
    [minutes] = [file for file in SCHEMA.migrations if file.name == "hot_appends"]
    assert minutes.serves_from == minutes.version - 1
