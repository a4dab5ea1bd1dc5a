"""Ids of our own making."""

from conversations.ids import new_id


def test_ids_differ_by_chance_and_say_their_version() -> None:
    # More than are drawn from the system at once.
    made = [new_id() for _ in range(1000)]
    assert len(set(made)) == 1000
    assert {(one.version, one.variant) for one in made} == {(7, "specified in RFC 4122")}
    assert len({one.hex[-15:] for one in made}) == 1000
