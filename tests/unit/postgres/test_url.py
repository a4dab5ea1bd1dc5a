"""URLs that were written for other clients of PostgreSQL."""

import pytest

from postgres.url import for_driver


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("postgres://h/d", "postgres://h/d"),
        ("postgres://h/d?", "postgres://h/d?"),
        ("postgres://h/d?sslmode=disable", "postgres://h/d?sslmode=disable"),
        (
            "postgres://h/d?connect_timeout=10&sslmode=require&pool_max_conns=4",
            "postgres://h/d?sslmode=require",
        ),
        ("postgres://h/d?connect_timeout=10", "postgres://h/d?"),
        ("postgres://h/d?search_path=a%2Cb&keepalives=1", "postgres://h/d?search_path=a%2Cb"),
        ("postgres://h/d?gssencmode=disable&channel_binding=prefer", "postgres://h/d?"),
        ("postgres://h/d?channel_binding=require", "postgres://h/d?channel_binding=require"),
        ("postgres://u:connect_timeout=1@h/d", "postgres://u:connect_timeout=1@h/d"),
    ],
)
def test_parameters_of_other_clients_are_left_out(given: str, used: str) -> None:
    assert for_driver(given) == used
