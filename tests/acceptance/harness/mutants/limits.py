"""Plugins that return more or fewer memories than asked for."""

from abc import ABC, abstractmethod
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from contract import BadRequest, Memory, SearchRequest
from harness.example import ExamplePlugin, Store
from tests.acceptance.harness.mutants import mutant
from tests.acceptance.harness.ranking import plain


@mutant("The default limit is 10.", "limits.default-is-20")
class DefaultIs10(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        limit = body.limit if "limit" in body.model_fields_set else 10
        return super().search(body.model_copy(update={"limit": limit}))


@mutant(
    "The limit is ignored.",
    "limits.default-is-20",
    "limits.one-is-the-newest",
    "limits.exactly-100",
    "fts.limit",
    "embedding.limit",
)
class IgnoresTheLimit(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body.model_copy(update={"limit": 1_000_000}))


@mutant("A limit of 100 returns 99.", "limits.exactly-100", "limits.complete-below")
class OneShort(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        return super().search(body)[: 99 if body.limit == 100 else None]


@mutant("Every namespace gives half of the limit.", "limits.complete-below")
class FairShare(Store):
    def search(self, body: SearchRequest) -> list[Memory]:
        if len(body.namespaces) != 2 or not plain(body):
            return super().search(body)
        halves = [
            super(FairShare, self).search(
                body.model_copy(update={"namespaces": [name], "limit": body.limit // 2})
            )
            for name in body.namespaces
        ]
        return halves[0] + halves[1]


class _Lenient(ExamplePlugin, ABC):
    """Reads a search with a limit that it should refuse."""

    @abstractmethod
    def repair(self, limit: Any) -> Any: ...

    async def search(self, request: Request) -> Response:
        try:
            return await super().search(request)
        except BadRequest as error:
            if not error.message.startswith("limit"):
                raise
            body = await request.json()
            limit = self.repair(body["limit"])
            repaired = SearchRequest(namespaces=body["namespaces"], limit=limit)
            memories = self.store.search(repaired)
            return Response(f'{{"memories": [{",".join(m.to_json().decode() for m in memories)}]}}')


@mutant("A limit of 101 is taken for 100.", "limits.101-is-refused")
class ClampsAbove(_Lenient):
    def repair(self, limit: Any) -> Any:
        return min(limit, 100)


@mutant("A limit of 0 is taken for the default.", "limits.0-is-refused")
class ZeroIsDefault(_Lenient):
    def repair(self, limit: Any) -> Any:
        return limit or 20


@mutant("A limit in a string is read as a number.", "limits.other-types-are-refused")
class LimitInAString(_Lenient):
    def repair(self, limit: Any) -> Any:
        return int(limit) if isinstance(limit, str) and limit.isdigit() else 101
