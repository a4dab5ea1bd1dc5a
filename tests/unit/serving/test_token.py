"""Whose request carries the token."""

import pytest

from serving.token import BearerToken


@pytest.mark.parametrize("configured", ["hush", " hush", "hush "])
def test_spaces_around_the_token_do_not_lock_everybody_out(configured: str) -> None:
    """Whoever writes `TOKEN="hush "` sends a header from which every parser takes the space."""
    token = BearerToken(configured)
    assert token.is_in({"headers": [(b"authorization", b"Bearer hush")]})
    assert not token.is_in({"headers": [(b"authorization", b"Bearer hus")]})
    assert not token.is_in({"headers": []})
