"""Query strings of REST: what is refused says why."""

import pytest

from recall.errors import Invalid
from recall.requests import Query


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("-1", "must be at least 1 and at most 200"),
        ("0", "must be at least 1 and at most 200"),
        ("9" * 5000, "must be at least 1 and at most 200"),
        ("1.5", "must be a whole number"),
        ("-", "must be a whole number"),
        ("%D9%A3", "must be a whole number"),
    ],
)
def test_a_refused_number_says_what_it_must_be(value: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        Query(f"limit={value}".encode()).whole("limit", 1, 200)
    assert refused.value.details == [("limit", reason)]
