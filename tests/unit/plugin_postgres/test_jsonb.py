"""Opaque JSON on its way into the store."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugin_postgres import jsonb


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same type: 1 is not 1.0, and True is not 1."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc\u00e9"), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text("abc"), anything))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_stored_text_means_the_same_value(value: dict[str, Any]) -> None:
    text = jsonb.store(value)
    assert text is not None
    assert same(json.loads(text), value)
    assert "e+" not in text or '"' in text


def test_nothing_is_stored_as_null_and_an_adopted_json_null_is_nothing() -> None:
    assert jsonb.store(None) is None
    assert jsonb.restore(None) is None
    assert jsonb.restore("null") is None
