"""Plugins that report wrong things about themselves."""

from starlette.requests import Request
from starlette.responses import Response

from contract import CAPABILITIES, EXTENSIONS
from harness.example import ExamplePlugin
from tests.acceptance.harness.mutants import edited, mutant


@mutant("Health is 200 but says degraded.", "health.answers-ok")
class AlwaysDegraded(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        return edited(await super().health(request), lambda body: body | {"status": "degraded"})


@mutant("Health leaves out the capabilities when asked.", "health.answers-ok")
class NoCapabilityList(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        return edited(await super().health(request), lambda body: body | {"capabilities": None})


@mutant("Health says the plugin's version, not the contract's.", "health.speaks-version-1")
class OwnVersion(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        return edited(await super().health(request), lambda body: body | {"version": "2.3.1"})


@mutant("JSON is sent as text/html.", "health.sends-json-as-json")
class HtmlHealth(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        response = await super().health(request)
        return Response(bytes(response.body), media_type="text/html")


class _Claims(ExamplePlugin):
    """Lists everything, whatever it has."""

    async def health(self, request: Request) -> Response:
        everything = {"capabilities": list(CAPABILITIES), "extensions": list(EXTENSIONS)}
        return edited(await super().health(request), lambda body: body | everything)


@mutant(
    "embedding is claimed but inert.",
    "negotiation.embedding",
    "embedding.nearest-first",
    "embedding.limit",
    "hybrid.both-count",
    without=("embedding",),
)
class InertEmbedding(_Claims):
    pass


@mutant(
    "fts is claimed but inert.",
    "negotiation.fts",
    "fts.finds-a-word",
    "fts.nothing-found",
    without=("fts",),
)
class InertFts(_Claims):
    pass


@mutant(
    "ttl is claimed but inert.",
    "negotiation.ttl",
    "ttl.memory-expires-on-time",
    "ttl.past-is-never-returned",
    "ttl.is-returned",
    "batch.does-not-keep-expired",
    without=("ttl",),
)
class InertTtl(_Claims):
    pass


@mutant(
    "pin is claimed but inert.",
    "negotiation.pin",
    "pin.is-returned",
    "pin.first-among-newest",
    "pin.across-namespaces",
    without=("pin",),
)
class InertPin(_Claims):
    pass


@mutant(
    "propagation is claimed but inert.",
    "negotiation.propagation",
    "propagation.deep",
    "propagation.large",
    without=("propagation",),
)
class InertPropagation(_Claims):
    pass


@mutant("batch is claimed but not served.", "negotiation.batch", without=("batch",))
class InertBatch(_Claims):
    pass


@mutant("list is claimed but not served.", "negotiation.list", without=("list",))
class InertList(_Claims):
    pass


@mutant(
    "What is served is not claimed: callers will not use it.",
    "negotiation.embedding",
    "negotiation.fts",
    "negotiation.ttl",
    "negotiation.pin",
    "negotiation.propagation",
    "negotiation.batch",
    "negotiation.list",
    "negotiation.filter",
    "negotiation.browse",
    "negotiation.get",
    only_warns=True,
)
class TooModest(ExamplePlugin):
    async def health(self, request: Request) -> Response:
        nothing: dict[str, list[str]] = {"capabilities": [], "extensions": []}
        return edited(await super().health(request), lambda body: body | nothing)


@mutant(
    "Fields of a capability that is not claimed are refused.",
    "negotiation.pin",
    "negotiation.ignores-fields-it-does-not-claim",
    without=("pin",),
)
class RefusesWhatItDoesNotClaim(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        if b'"pin"' in await request.body():
            return Response('{"code": "bad_request", "message": "pin: is not known"}', 400)
        return await super().write(request)


@mutant("Unknown fields are refused.", "negotiation.ignores-unknown-fields")
class RefusesUnknownFields(ExamplePlugin):
    async def search(self, request: Request) -> Response:
        if b'"colour"' in await request.body():
            return Response('{"code": "bad_request", "message": "colour: is not known"}', 400)
        return await super().search(request)


@mutant("A write needs a Content-Type.", "negotiation.needs-no-content-type")
class NeedsContentType(ExamplePlugin):
    async def write(self, request: Request) -> Response:
        if "content-type" not in request.headers:
            return Response('{"code": "bad_request", "message": "send JSON"}', 400)
        return await super().write(request)
