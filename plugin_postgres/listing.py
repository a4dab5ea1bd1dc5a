"""Listings: every memory that matches, page by page, and how many there are."""

import json
from functools import cache
from typing import Any

import asyncpg
import orjson

from contract import MAX_GROUPS, BadRequest, CountRequest, ListRequest
from plugin_postgres import cursor, jsonb, rows, sql
from plugin_postgres.cursor import Cursor
from plugin_postgres.database import Database

# A page of a thousand memories of the largest size would be a quarter of a gigabyte.
_PAGE_BYTES = 8 * 2**20
# JSON types in the order of groups of equal size; null is first.
_TYPES: tuple[type, ...] = (type(None), bool, int, str)


class Listing:
    """Pages and counts of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, request: ListRequest) -> dict[str, Any]:
        """One page; shorter than asked for where the memories are large."""
        begin = await self._begin(request)
        # The extra row starts the next page.
        arguments: list[object] = [
            list(set(request.namespaces)),
            _kinds(request),
            request.limit + 1,
            jsonb.store(request.where),
            request.created_after,
            request.created_before,
        ]
        if request.order == "id":
            arguments.append(begin.id)
        else:
            arguments += [begin.created_at, begin.id, begin.number]
        statement = _page_statement(f"list_{_WHAT[request.fields]}", _PAGES[request.order])
        found = await self._database.fetch(statement, *arguments)
        taken = _taken(request, found)
        rest = found[len(taken) :]
        return {
            "memories": taken,
            "next_cursor": _cursor_at(rest[0], begin).write(request) if rest else None,
        }

    async def count(self, request: CountRequest) -> dict[str, Any]:
        """How many memories match, and with `group_by` how many have each value of the field."""
        arguments: list[object] = [
            list(set(request.namespaces)),
            _kinds(request),
            jsonb.store(request.where),
            request.created_after,
            request.created_before,
        ]
        if request.group_by is None:
            [found] = await self._database.fetch(sql.load("count_memories"), *arguments)
            return {"count": found["count"]}
        statement = _groups_statement()
        groups = await self._database.fetch(statement, *arguments, request.group_by)
        if len(groups) > MAX_GROUPS:
            raise BadRequest(
                f"group_by: the field has more than {MAX_GROUPS} values",
                details={"field": "group_by"},
            )
        return {
            "count": sum(group["count"] for group in groups),
            "groups": [_group(group) for group in sorted(groups, key=_group_order)],
        }

    async def _begin(self, request: ListRequest) -> Cursor:
        if request.cursor is not None:
            return cursor.read(request.cursor, request)
        number = 0
        if request.order == "newest":
            [row] = await self._database.fetch(sql.load("find_last_number"))
            number = row[0]
        return cursor.first(request, number)


_PAGES = {"id": "list_by_id", "newest": "list_by_time"}
_WHAT = {"full": "memories", "digest": "digests"}


@cache
def _page_statement(name: str, page: str) -> str:
    return sql.load(name).replace("{page}", sql.load(page)).replace("{bytes}", str(_PAGE_BYTES))


@cache
def _groups_statement() -> str:
    return sql.load("count_groups").replace("{groups}", str(MAX_GROUPS + 1))


def _kinds(request: ListRequest | CountRequest) -> list[str] | None:
    return sorted(set(request.kinds)) if request.kinds else None


def _taken(request: ListRequest, found: list[asyncpg.Record]) -> list[dict[str, Any]]:
    if request.fields == "digest":
        return [
            {
                "id": str(row["id"]),
                "namespace": row["namespace"],
                "content_sha256": row["content_sha256"],
            }
            for row in found[: request.limit]
        ]
    fitting = (row for row in found[: request.limit] if row["content"] is not None)
    return [rows.memory(*row) for row in fitting]


def _cursor_at(row: asyncpg.Record, begin: Cursor) -> Cursor:
    return Cursor(row["id"], row["created_at"], begin.number)


def _group(group: asyncpg.Record) -> dict[str, Any]:
    value = group["value"]
    # Exactly as stored: a number may be larger than Python can write.
    return {
        "value": None if value is None else orjson.Fragment(value),
        "count": group["count"],
    }


def _group_order(group: asyncpg.Record) -> tuple[int, int, Any]:
    """The largest first; groups of equal size by type and value."""
    value = None if group["value"] is None else json.loads(group["value"])
    kind = int if isinstance(value, float) else type(value)
    return -group["count"], _TYPES.index(kind), value or 0 if kind is not str else value
