"""Which namespace a legacy row belongs to, or why to none; and the write it becomes.

    LOCAL   workspace:<workspace_id>
    TEAM    team:<parent_id, or its own id for a root>
    GLOBAL  org:<id of the root of its chain>

Nothing is guessed: a row whose namespace is unclear is rejected, with the reason.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from pydantic import ValidationError

from contract import (
    BatchWrite,
    Capability,
    JsonObject,
    MemoryWrite,
    NamespaceKind,
    explain,
    format_time,
)

DEEPEST_CHAIN = 50
_LONGEST_NAME = 40


class Rejection(Exception):
    """A row that cannot be copied; the message tells the operator why."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A legacy workspace. `root` is None when its chain of parents has no end."""

    id: UUID
    name: str | None
    status: str | None
    parent_id: UUID | None
    parent_is_missing: bool
    parent_status: str | None
    root: UUID | None


@dataclass(frozen=True, slots=True)
class LegacyRow:
    """A row of `agent_memories`; a time that RFC 3339 cannot express is in its `odd_` text."""

    id: UUID
    workspace_id: UUID | None
    scope: str | None
    slot: int | None
    content: bytes | None
    created_at: datetime | None
    odd_created_at: str | None
    updated_at: datetime | None
    odd_updated_at: str | None
    namespace: str | None
    embedding: str | None


class Workspaces:
    """All workspaces, and the namespace of each scope in them."""

    def __init__(self, workspaces: Iterable[Workspace]) -> None:
        self._by_id = {workspace.id: workspace for workspace in workspaces}

    def __contains__(self, workspace_id: UUID) -> bool:
        return workspace_id in self._by_id

    def name_of(self, workspace_id: UUID | None) -> str:
        """The workspace's name for people."""
        workspace = None if workspace_id is None else self._by_id.get(workspace_id)
        return "" if workspace is None else (workspace.name or "")[:_LONGEST_NAME]

    def namespace_of(self, workspace_id: UUID | None, scope: str | None) -> str:
        """The one namespace that the rows of this workspace and scope belong to."""
        if workspace_id is None:
            raise Rejection("no workspace: workspace_id is null")
        workspace = self._by_id.get(workspace_id)
        if workspace is None:
            raise Rejection("no workspace: workspace_id is not in the table workspaces")
        if scope == "LOCAL":
            return f"workspace:{workspace_id}"
        if scope == "TEAM":
            if workspace.root is None and self._in_cycle(workspace):
                raise Rejection("parent cycle: the workspace is its own ancestor")
            return f"team:{workspace.parent_id or workspace_id}"
        if scope == "GLOBAL":
            if workspace.root is None:
                raise Rejection(self._endless(workspace))
            return f"org:{workspace.root}"
        shown = "null" if scope is None else repr(scope[:_LONGEST_NAME])
        raise Rejection(f"unknown scope: {shown} is none of LOCAL, TEAM, GLOBAL")

    def oddities(self, ids: Iterable[UUID | None]) -> list[str]:
        """What is strange about these workspaces, a sentence each."""
        known = (self._by_id.get(id_) for id_ in ids if id_ is not None)
        return [sentence for workspace in known if workspace for sentence in self._odd(workspace)]

    def _odd(self, workspace: Workspace) -> Iterator[str]:
        name, parent = f"workspace {workspace.id}", workspace.parent_id
        if workspace.status == "removed":
            yield f"{name} is removed; its rows are copied anyway"
        if workspace.parent_is_missing:
            yield (
                f"{name} names a parent {parent} that does not exist: its TEAM rows belong to"
                f" team:{parent}, and it counts as the root of its chain"
            )
        elif workspace.parent_status == "removed":
            yield f"{name} has a removed parent {parent}"
        if workspace.root is None:
            yield f"{name}: {self._endless(workspace)}"

    def _endless(self, workspace: Workspace) -> str:
        if self._in_cycle(workspace):
            return "parent cycle: the workspace is its own ancestor"
        steps, at = 0, workspace
        while at.root is None and at.parent_id is not None and steps <= len(self._by_id):
            steps, at = steps + 1, self._by_id[at.parent_id]
        if at.root is None:
            return "parent cycle: an ancestor of the workspace is its own ancestor"
        return f"parent chain of more than {DEEPEST_CHAIN} workspaces"

    def _in_cycle(self, workspace: Workspace) -> bool:
        seen, at = set[UUID](), workspace
        while at.root is None and at.parent_id is not None and at.id not in seen:
            seen.add(at.id)
            at = self._by_id[at.parent_id]
            if at.id == workspace.id:
                return True
        return False


def kind_of(namespace: str) -> NamespaceKind:
    """The kind with which a namespace of the mapping is PUT."""
    kinds: Mapping[str, NamespaceKind] = {"workspace": "workspace", "team": "team", "org": "org"}
    return kinds[namespace.partition(":")[0]]


def content_of(row: LegacyRow) -> str:
    """The content if the contract accepts it, unchanged; else rejected."""
    if row.content is None:
        raise Rejection("blank content: it is null")
    try:
        content = row.content.decode()
    except UnicodeDecodeError:
        raise Rejection("content is not UTF-8") from None
    if not content or content.isspace():
        raise Rejection("blank content")
    if "\x00" in content:
        raise Rejection("NUL character in the content")
    return content


def write_of(
    row: LegacyRow, namespace: str, content: str, capabilities: Collection[Capability]
) -> BatchWrite:
    """The write with everything from the row that this plugin can store."""
    fields: dict[str, Any] = {
        "namespace": namespace,
        "id": row.id,
        "content": content,
        "kind": "fact",
        "source": "agent",
    }
    if row.created_at is not None:
        fields["created_at"] = row.created_at
    if "propagation" in capabilities:
        fields["propagation"] = provenance(row)
    if row.embedding is not None and "embedding" in capabilities:
        embedding = read_embedding(row.embedding)
        if embedding is not None:
            fields["embedding"] = embedding
    try:
        return BatchWrite(**fields)
    except ValidationError as error:
        raise Rejection(f"the contract does not allow it: {explain(error)}") from None


def single_of(write: BatchWrite) -> MemoryWrite:
    """The same for a plugin without `batch`, where a write has no `created_at`."""
    names = write.model_fields_set - {"namespace", "created_at"}
    return MemoryWrite(**{name: getattr(write, name) for name in names})


def provenance(row: LegacyRow) -> JsonObject:
    """Where the memory came from, for readers after the legacy table is gone."""
    return {
        "legacy": {
            "workspace_id": str(row.workspace_id),
            "scope": row.scope,
            "namespace": row.namespace,
            "created_at": _text(row.created_at, row.odd_created_at),
            "updated_at": _text(row.updated_at, row.odd_updated_at),
        }
    }


def read_embedding(text: str) -> list[float] | None:
    """The numbers of a pgvector `[1,2]` or an array `{1,2}`; None if they cannot be copied."""
    try:
        numbers = orjson.loads(text.replace("{", "[").replace("}", "]"))
    except orjson.JSONDecodeError:
        return None
    if not isinstance(numbers, list) or not numbers:
        return None
    if not all(isinstance(number, int | float) for number in numbers):
        return None
    return numbers


def _text(moment: datetime | None, odd: str | None) -> str | None:
    return odd if moment is None else format_time(moment)
