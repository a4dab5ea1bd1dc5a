"""`propagation` and `metadata` come back unchanged."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugin_postgres import jsonb

pytestmark = pytest.mark.anyio

A = "/v1/namespaces/workspace:a"
AWKWARD: dict[str, Any] = {
    "integers": [0, -1, 2**53 + 1, 2**63, -(2**64), 10**30, 10**400],
    "fractions": [0.1, 1.0, -1.5, 1e-7, 5e-324, 1e16, 1e22, 1e23, 1.7976931348623157e308, 3.14e100],
    "nothing": None,
    "nested": {"": {}, "null": None, "list": [[], [None], {}]},
    "texts": ["", "日本語", "👩‍👩‍👧", "e+5", 'quote " \\ slash/', "\u2028\u2029\x7f", "1e+22"],
    "booleans": [True, False],
    "key with . and \u00e9 and \n": 1,
    "__proto__": {"constructor": 1},
}


def same(left: Any, right: Any) -> bool:
    """Equal, and of the same type: 1 is not 1.0, and True is not 1."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


@pytest.mark.parametrize("value", [AWKWARD, {}, {"a": -0.0}])
async def test_awkward_values_come_back_unchanged(
    http: httpx.AsyncClient, value: dict[str, Any]
) -> None:
    put = await http.put(A, json={"kind": "workspace", "metadata": value})
    assert same(put.json()["metadata"], value)
    body = {"content": "x", "kind": "fact", "source": "user", "propagation": value}
    assert (await http.post(f"{A}/memories", json=body)).status_code == 201
    for path in ("/v1/search", "/v1/memories/list"):
        answer = await http.post(path, json={"namespaces": ["workspace:a"]})
        assert same(answer.json()["memories"][0]["propagation"], value)
    patched = await http.patch(A, json={"expires_at": None})
    assert same(patched.json()["metadata"], value)


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
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_stored_text_means_the_same_value(value: dict[str, Any]) -> None:
    text = jsonb.store(value)
    assert text is not None
    assert same(json.loads(text), value)
    assert "e+" not in text or '"' in text
