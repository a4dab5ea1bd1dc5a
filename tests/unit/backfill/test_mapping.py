"""From scope to namespace, and from row to write."""

from uuid import UUID

import pytest

from backfill.mapping import (
    Rejection,
    Workspace,
    Workspaces,
    content_of,
    read_embedding,
    single_of,
    write_of,
)
from contract import CAPABILITIES
from tests.unit.backfill.rows import NAMESPACE, WORKSPACE, row

ROOT, CHILD, DEEP = UUID(int=1), UUID(int=2), UUID(int=3)


def workspace(id_: UUID, parent: UUID | None, root: UUID | None) -> Workspace:
    return Workspace(id_, "name", "online", parent, False, None, root)


FAMILY = Workspaces(
    [workspace(ROOT, None, ROOT), workspace(CHILD, ROOT, ROOT), workspace(DEEP, CHILD, ROOT)]
)


@pytest.mark.parametrize(
    ("owner", "scope", "namespace"),
    [
        (DEEP, "LOCAL", f"workspace:{DEEP}"),
        (DEEP, "TEAM", f"team:{CHILD}"),
        (DEEP, "GLOBAL", f"org:{ROOT}"),
        (ROOT, "TEAM", f"team:{ROOT}"),
        (ROOT, "GLOBAL", f"org:{ROOT}"),
    ],
)
def test_a_scope_has_one_namespace(owner: UUID, scope: str, namespace: str) -> None:
    assert FAMILY.namespace_of(owner, scope) == namespace


@pytest.mark.parametrize("scope", ["local", "Team", "LOCAL ", "ORG", "", None])
def test_a_scope_is_never_guessed(scope: str | None) -> None:
    with pytest.raises(Rejection, match="unknown scope"):
        FAMILY.namespace_of(ROOT, scope)


def test_a_workspace_that_is_its_own_parent_has_a_local_namespace_only() -> None:
    family = Workspaces([workspace(ROOT, ROOT, None)])
    assert family.namespace_of(ROOT, "LOCAL") == f"workspace:{ROOT}"
    for scope in ("TEAM", "GLOBAL"):
        with pytest.raises(Rejection, match="parent cycle"):
            family.namespace_of(ROOT, scope)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "null"),
        (b"", "blank"),
        (b" \r\n\t", "blank"),
        ("\u2003\u00a0".encode(), "blank"),
        (b"a\x00b", "NUL"),
        (b"caf\xe9", "UTF-8"),
        (b"\xed\xa0\x80", "UTF-8"),
    ],
)
def test_content_that_the_contract_does_not_allow_is_rejected(
    content: bytes | None, reason: str
) -> None:
    with pytest.raises(Rejection, match=reason):
        content_of(row(content=content))


def test_content_is_not_trimmed() -> None:
    assert content_of(row(content=b"  a\r\n ")) == "  a\r\n "


def test_a_write_contains_what_the_plugin_lists() -> None:
    full = row(embedding="[1,2.5]", namespace="notes", odd_updated_at="infinity")
    write = write_of(full, NAMESPACE, "text", frozenset(CAPABILITIES))
    assert (write.id, write.namespace, write.created_at) == (full.id, NAMESPACE, full.created_at)
    assert write.embedding == [1, 2.5]
    assert write.propagation == {
        "legacy": {
            "workspace_id": str(WORKSPACE),
            "scope": "LOCAL",
            "namespace": "notes",
            "created_at": "2026-01-02T03:04:05.678901Z",
            "updated_at": "infinity",
        }
    }
    bare = write_of(full, NAMESPACE, "text", frozenset())
    assert bare.embedding is None
    assert bare.propagation is None


def test_a_single_write_has_neither_namespace_nor_time() -> None:
    single = single_of(write_of(row(), NAMESPACE, "text", frozenset()))
    assert single.model_fields_set == {"id", "content", "kind", "source"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("[1,-2.5,3e-05]", [1, -2.5, 3e-05]),
        ("{1,2}", [1, 2]),
        ("[]", None),
        ("[NaN]", None),
        ("{1,NULL}", None),
        ("no vector", None),
    ],
)
def test_an_embedding_is_read_from_its_text(text: str, numbers: list[float] | None) -> None:
    assert read_embedding(text) == numbers
