"""`propagation` and `metadata` come back unchanged."""

from typing import Any

import httpx
import pytest

from tests.unit.plugin_postgres.test_jsonb import same

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
