"""What a field of a request may hold."""

import pytest

from conversations.errors import BadRequest
from conversations.fields import MAX_CONTENT, Fields


@pytest.mark.parametrize(
    "largest", ["x" * (MAX_CONTENT - 2), '"' * (MAX_CONTENT // 2 - 1), "é" * (MAX_CONTENT // 2 - 1)]
)
def test_content_is_measured_as_json(largest: str) -> None:
    assert Fields({"content": largest}).content(lists=False) == largest
    with pytest.raises(BadRequest, match="content: must be at most 4194304 bytes of JSON"):
        Fields({"content": largest + largest[0]}).content(lists=False)
