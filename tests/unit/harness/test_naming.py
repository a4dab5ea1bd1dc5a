"""Which namespaces a request names: the harness refuses to send what names a foreign one."""

import pytest

from harness.exchange import Request
from harness.naming import names_in

LONGEST = "a:" + "0" * 254


@pytest.mark.parametrize(
    "path",
    ["a:0", "a%3A0", "a%3a0", "%61:0", "a%253A0", "x%2F..%2Fa%3A0", "a:0%3Fx", "a:0/memories"],
)
def test_a_name_in_the_path_is_seen_however_it_is_encoded(path: str) -> None:
    assert names_in(Request("PUT", f"/v1/namespaces/{path}", None)) == {"a:0"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"namespaces": ["a:0"]}',
        b'{"namespaces": "a:0"}',
        b'{"namespaces": {"0": "a:0"}}',
        b'{"namespaces": [["a:0"]]}',
        b'{"requested_by_namespace": "a:0"}',
        b'{"writes": [{"namespace": "a:0"}]}',
        rb'{"name\u0073paces": ["\u0061:0"]}',
        b'{"namespaces": ["a:0"], "namespaces": ["none"]}',
        b'{"namespaces": ["a:0"]} and more',
        b'{"embedding": [NaN], "namespaces": ["a:0"]}',
    ],
)
def test_a_name_in_the_body_is_seen_wherever_a_plugin_may_read_it(body: bytes) -> None:
    assert names_in(Request("POST", "/v1/search", body)) == {"a:0"}


@pytest.mark.parametrize("name", ["A:0", "a0", "a:", ":0", "a:é", f"{LONGEST}0", "a:0%0A"])
def test_an_invalid_name_is_not_a_name(name: str) -> None:
    assert names_in(Request("DELETE", f"/v1/namespaces/{name}", None)) == set()


def test_the_longest_valid_name_is_a_name() -> None:
    assert names_in(Request("DELETE", f"/v1/namespaces/{LONGEST}", None)) == {LONGEST}


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"content": "a:0"}', b"[" * 10**6])
def test_other_text_names_nothing(body: bytes) -> None:
    assert names_in(Request("POST", "/v1/search", body)) == set()
