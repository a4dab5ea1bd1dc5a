"""What a request body has wrong, in words for its sender."""

from typing import Any

import pytest
from pydantic import ValidationError

from recall.errors import refused
from recall.requests import KeyBody


def details_of(kind: Any, body: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(body)
    return list(refused(caught.value).details)


def test_each_field_has_a_detail_of_its_own_whatever_its_name() -> None:
    body = {"name": "n", "odd; name: this": 1, "other": 2}
    reason = "is not a field of this request"
    assert details_of(KeyBody, body) == [("odd; name: this", reason), ("other", reason)]


def test_a_length_is_told_without_speaking_of_items() -> None:
    assert details_of(KeyBody, {"name": ""}) == [("name", "must have a length of at least 1")]
    assert details_of(KeyBody, {"name": "n" * 201}) == [
        ("name", "must have a length of at most 200")
    ]
