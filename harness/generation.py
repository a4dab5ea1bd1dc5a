"""Cases that schemathesis makes from the OpenAPI document, kept inside namespaces of our own.

Schemathesis only generates the cases. They are sent like those of any other check, and judged by
the types of the contract: valid requests must be accepted, invalid ones refused with 400, and every
answer must have the shape that the document declares for it.
"""

import asyncio
import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import Any
from urllib.parse import quote, unquote, urlencode

import httpx
import hypothesis
from hypothesis import strategies
from jsonschema import Draft202012Validator, FormatChecker
from schemathesis import APIOperation, BaseSchema, Case, GenerationMode, Response, openapi
from schemathesis.core import NotSet
from schemathesis.core.result import Ok
from schemathesis.generation.drivers import CoverageGenerator
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.hypothesis.examples import generate_one
from schemathesis.generation.overrides import Override

import contract
from contract import (
    CAPABILITY_OF,
    BadRequest,
    CountRequest,
    ForgetRequest,
    ListRequest,
    MemoryId,
    MemoryWrite,
    NamespaceName,
    NamespacePatch,
    NamespaceUpsert,
    SearchRequest,
    WireModel,
    extension_of,
    parse,
    parse_value,
    parse_writes,
)
from harness.curl import body_of
from harness.decoders import decoders_differ
from harness.errors import Failure, HarnessError
from harness.exchange import Exchange
from harness.naming import LONGEST_NAME, PATH_PART, decoded, looks_like_a_name
from harness.trial import Trial

_SHRINKS = 60
_SHRINKING_SECONDS = 15.0
_ATTEMPTS = 3
_NO_SEGMENTS = ("", ".", "..")
_METHODS = ("get", "put", "post", "patch", "delete")
# What a plugin may answer to a valid request, in addition to 413.
_ACCEPTED: dict[str, tuple[type[WireModel] | None, set[int]]] = {
    "getHealth": (None, {200}),
    "putNamespace": (NamespaceUpsert, {200}),
    "patchNamespace": (NamespacePatch, {200, 404}),
    "deleteNamespace": (None, {204, 404}),
    "writeMemory": (MemoryWrite, {201, 403, 404}),
    "searchMemories": (SearchRequest, {200}),
    "forgetMemory": (ForgetRequest, {204, 403, 404}),
    # A cursor that the plugin did not return is refused.
    "listMemories": (ListRequest, {200, 400}),
    "countMemories": (CountRequest, {200}),
    "getMemory": (None, {200, 403, 404}),
}

Operation = APIOperation[Any, Any, Any, Any]
AnyCase = Case[Any]

# Hypothesis and schemathesis keep state of their own per process.
_one_at_a_time = threading.Lock()


async def in_thread(work: Callable[[threading.Event], None]) -> None:
    """Run a generator, which is synchronous, without blocking the other checks.

    When the run is cut short the event tells `work` to stop, and nothing is sent after that.
    """
    stopped = threading.Event()

    def locked() -> None:
        with _one_at_a_time:
            if not stopped.is_set():
                work(stopped)

    thread = asyncio.create_task(asyncio.to_thread(locked))
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        stopped.set()
        with suppress(Exception):
            await thread
        raise


class Generator:
    """Generates cases for one check and sends them to the plugin, from a thread."""

    def __init__(
        self,
        trial: Trial,
        names: list[str],
        long_names: list[str],
        examples: int,
        loop: asyncio.AbstractEventLoop,
        stopped: threading.Event,
    ) -> None:
        self._stopped = stopped
        self._trial = trial
        self._names = names
        self._long_names = {len(name): name for name in long_names}
        self._loop = loop
        self._setup = len(trial.wire.exchanges)
        self._failure: Failure | None = None
        self._failing: list[Exchange] = []
        self._document = self._adapt(_openapi())
        self._schema: BaseSchema = openapi.from_dict(self._document)
        self.settings = hypothesis.settings(
            max_examples=examples,
            stateful_step_count=8,
            database=None,
            deadline=None,
            derandomize=False,
            print_blob=False,
            report_multiple_bugs=False,
            suppress_health_check=list(hypothesis.HealthCheck),
            verbosity=hypothesis.Verbosity.quiet,
        )

    def operations(self) -> Iterator[Operation]:
        """The operations that the plugin claims to have."""
        for result in self._schema.get_all_operations():
            if isinstance(result, Ok):
                yield result.ok()

    def examples(self, operation: Operation) -> Iterator[AnyCase]:
        """The examples of the document, unchanged."""
        for strategy in operation.get_strategies_from_examples():
            yield generate_one(strategy)

    def coverage(self, operation: Operation) -> Iterator[AnyCase]:
        """Every keyword of the schema, at and beyond its limits."""
        config = self._schema.config.generation_for(operation=operation, phase="coverage")
        yield from CoverageGenerator(
            operation=operation,
            generation_modes=list(GenerationMode),
            generation_config=config,
            auth_storage=None,
            override=Override(),
            feedback=FeedbackSources(),
            hooks=None,
        )

    def fuzz(self, operation: Operation) -> None:
        """Random valid and invalid cases; a failing one is shrunk."""
        modes = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]
        failing: set[str] = set()
        attempts = 0
        shrinking_ends = math.inf

        @hypothesis.seed(self._trial.settings.seed)
        @self.settings
        @hypothesis.given(strategies.one_of(modes))
        def test(case: AnyCase) -> None:
            nonlocal attempts, shrinking_ends
            attempts += bool(failing)
            late = time.monotonic() > shrinking_ends
            if (late or attempts > _SHRINKS) and repr(case) not in failing:
                return  # small enough: a slow plugin would keep us here for minutes
            self.start_over()
            try:
                self.play(case)
            except Failure:
                if not failing:
                    shrinking_ends = time.monotonic() + _SHRINKING_SECONDS
                failing.add(repr(case))
                raise

        try:
            test()
        except hypothesis.errors.Unsatisfiable:
            return  # an operation without input has no invalid cases
        except hypothesis.errors.HypothesisException:
            self._raise_failure()
            raise

    def walk(self) -> None:
        """Sequences of operations along the links of the document, all of them valid."""
        self._schema.config.generation.modes = [GenerationMode.POSITIVE]
        generator = self

        class Walk(self._schema.as_state_machine()):  # type: ignore[misc]
            def setup(self) -> None:
                generator.start_over()
                generator.clear()

            def call(self, case: AnyCase, **_: Any) -> Response:
                if isinstance(case.body, dict):
                    # Most times are in the past, and expired memories lead nowhere.
                    case.body.pop("expires_at", None)
                return generator.response(generator.play(case))

            def validate_response(self, *_: Any, **__: Any) -> None:
                """Every answer has been judged when it came."""

        # Shrinking a walk takes minutes, and its last steps show what is wrong.
        unshrunk = hypothesis.settings(self.settings, phases=[hypothesis.Phase.generate])
        for attempt in range(_ATTEMPTS):
            seed = self._trial.settings.seed + attempt
            Walk.rule_order_seed = seed
            hypothesis.seed(seed)(Walk)
            try:
                Walk.run(settings=unshrunk)
                return
            except hypothesis.errors.HypothesisException:
                # Hypothesis expects the same answer to the same request, which a store that
                # other requests have changed does not give.
                self._raise_failure()
        self._trial.warn("no walk along the links of the document came to its end")

    def _raise_failure(self) -> None:
        """Raise the failure that Hypothesis found but could not repeat, if there is one."""
        if self._failure is not None:
            self._trial.wire.exchanges[:] = self._failing
            raise self._failure

    def clear(self) -> None:
        """Empty the namespaces, so that every walk starts the same way."""
        for name in self._names:
            self._send("DELETE", f"/v1/namespaces/{name}", None)
        for name in self._names[:-1]:
            self._send("PUT", f"/v1/namespaces/{name}", body_of({"kind": "custom"}))

    def start_over(self) -> None:
        """Drop what was sent before from the report: the next case does not depend on it."""
        del self._trial.wire.exchanges[self._setup :]

    def play(self, case: AnyCase) -> Exchange | None:
        """Send a case, if it may be sent, and judge the answer."""
        try:
            return self._play(case)
        except Failure as failure:
            failing = list(self._trial.wire.exchanges)
            if self._failure is None or _size(failing) <= _size(self._failing):
                self._failure, self._failing = failure, failing
            raise

    def _play(self, case: AnyCase) -> Exchange | None:
        if case.method.lower() not in _METHODS:
            return None
        case.path_parameters = self._own_path(case.path_parameters)
        path = case.formatted_path
        query = self._own(case.query or {})
        if query:
            path += "?" + urlencode(query, doseq=True)
        body = None if isinstance(case.body, NotSet) else _bytes(self._own(case.body))
        exchange = self._send(case.method, path, body)
        operation = self._document["paths"][case.path].get(case.method.lower())
        if operation is None:
            # A path such as /v1/memories/batch is also one with an id that is not a UUID.
            exchange.expect(400, 404, 405)
            exchange.envelope()
            return exchange
        parameter = unquote(case.formatted_path.split("/")[3]) if "{" in case.path else None
        allowed = self._allowed(operation["operationId"], parameter, body, query)
        exchange.expect(*sorted(allowed))
        if exchange.status != 204:
            self._fits(exchange, operation)
        return exchange

    def _fits(self, exchange: Exchange, operation: dict[str, Any]) -> None:
        """The answer has the shape that the document declares for its status."""
        declared = operation["responses"].get(str(exchange.status))
        if declared is None:
            exchange.envelope()
            return
        if "$ref" in declared:
            name = declared["$ref"].rpartition("/")[2]
            declared = self._document["components"]["responses"][name]
        schema = declared["content"]["application/json"]["schema"]
        validator = Draft202012Validator(
            {**schema, "components": self._document["components"]}, format_checker=FormatChecker()
        )
        error = next(iter(validator.iter_errors(exchange.json)), None)
        if error is not None:
            place = "/".join(str(part) for part in error.absolute_path)
            raise Failure(f"the declared shape ({place}: {error.message})", exchange.shown)

    def _allowed(
        self, operation: str, parameter: str | None, body: bytes | None, query: dict[str, Any]
    ) -> set[int]:
        """The statuses that the contract allows as the answer to this request."""
        if parameter is not None and (parameter in _NO_SEGMENTS or "/" in parameter):
            return {400, 404, 405}
        either = decoders_differ(operation, body) or self._has_another_dimension(body)
        if operation == "batchWrite":
            if either:
                return {200, 400, 413}
            return {200, 413} if _fits_batch(body) else {400, 413}
        model, accepted = _ACCEPTED[operation]
        kind = MemoryId if operation in ("forgetMemory", "getMemory") else NamespaceName
        fits_path = parameter is None or _fits_path(kind, parameter)
        if operation == "getMemory":
            fits_path = fits_path and _fits_path(NamespaceName, query.get("namespace"))
        # A field that the plugin may ignore may be invalid, or may be refused.
        verdicts = {_fits_model(model, body), _fits_model(model, self._claimed(model, body))}
        if either:
            verdicts = {True, False}
        allowed = {413}
        if fits_path and True in verdicts:
            allowed |= accepted
        if not fits_path or False in verdicts:
            # Whether the path or the body is validated first is the plugin's choice.
            allowed |= {400} | (accepted & {404})
        return allowed

    def _has_another_dimension(self, body: bytes | None) -> bool:
        """Whether a plugin with one dimension may refuse the embedding in this body."""
        return self._trial.dimension is not None and b'"embedding"' in (body or b"")

    def _claimed(self, model: type[WireModel] | None, body: bytes | None) -> bytes | None:
        """The body without the fields that the plugin may ignore."""
        try:
            value = json.loads(body or b"")
        except ValueError:
            return body
        if isinstance(value, dict):
            return body_of(
                {name: item for name, item in value.items() if self._is_claimed(model, name)}
            )
        return body

    def _is_claimed(self, model: type[WireModel] | None, field: str) -> bool:
        claim = CAPABILITY_OF.get(field) or (extension_of(model, field) if model else None)
        return claim is None or self._trial.claims(claim)

    def _send(self, method: str, path: str, body: bytes | None) -> Exchange:
        if self._stopped.is_set():
            raise HarnessError("the run was stopped early")
        sending = self._trial.send(method, path, raw=body)
        return asyncio.run_coroutine_threadsafe(sending, self._loop).result()

    def response(self, exchange: Exchange | None) -> Response:
        if exchange is None:
            hypothesis.reject()
        request = exchange.request
        url = f"http://plugin{request.path}"
        response = httpx.Response(
            exchange.status or 0,
            headers={"Content-Type": "application/json"},
            content=exchange.body,
            request=httpx.Request(request.method, url, content=request.body),
        )
        response.elapsed = timedelta(seconds=exchange.received - exchange.sent)
        return Response.from_httpx(response, verify=True)

    def _adapt(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document for this plugin: its extensions, our namespaces, ids of our own."""
        adapted: dict[str, Any] = self._own(document)
        paths = {path: self._offered(item) for path, item in adapted["paths"].items()}
        adapted["paths"] = {
            path: item for path, item in paths.items() if item.keys() != {"parameters"} and item
        }
        for schema in adapted["components"]["schemas"].values():
            if "properties" in schema:
                schema["properties"] = self._offered(schema["properties"])
        _drop_links(adapted)
        return adapted

    def _offered(self, item: dict[str, Any]) -> dict[str, Any]:
        """The operations or properties of no extension, or of one that is claimed."""
        return {
            name: part
            for name, part in item.items()
            if not isinstance(part, dict)
            or "x-extension" not in part
            or self._trial.claims(part["x-extension"])
        }

    def _own(self, value: Any) -> Any:
        """The same JSON with every foreign namespace replaced by one of ours."""
        if isinstance(value, str):
            return self._own_name(value) if looks_like_a_name(value) else value
        if isinstance(value, dict):
            return {key: self._own(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._own(item) for item in value]
        return value

    def _own_path(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The same for parameters of a path, which schemathesis has percent-encoded."""
        owned = {}
        for key, value in parameters.items():
            plain = decoded(str(value))
            ours = PATH_PART.sub(lambda part: str(self._own(part[0])), plain)
            # A segment without a name is sent as generated: odd encodings are part of the case.
            owned[key] = value if ours == plain else quote(ours, safe="")
        return owned

    def _own_name(self, name: str) -> str:
        """One of our names: of the same length at the limit, and too long beyond it."""
        if name in self._names or name in self._long_names.values():
            return name
        if len(name) > LONGEST_NAME:
            # No plugin should accept it, but if one does, it is cleaned up.
            too_long = self._long_names[LONGEST_NAME].ljust(len(name), "0")
            self._trial.own(too_long)
            return too_long
        return self._long_names.get(len(name), self._names[len(name) % len(self._names)])


def _drop_links(document: dict[str, Any]) -> None:
    """Remove the links to operations that are no longer in the document."""
    operations = [op for item in document["paths"].values() for op in item.values()]
    operations = [operation for operation in operations if "operationId" in operation]
    known = {operation["operationId"] for operation in operations}
    targets = document["components"]["links"]
    for operation in operations:
        for response in operation["responses"].values():
            links = response.get("links", {})
            for name, link in list(links.items()):
                if targets[link["$ref"].rpartition("/")[2]]["operationId"] not in known:
                    del links[name]


@cache
def _openapi() -> dict[str, Any]:
    """The document, read once: not to be changed."""
    return contract.openapi()


def _fits_model(model: type[WireModel] | None, body: bytes | None) -> bool:
    if model is None:
        return True
    try:
        parse(model, body or b"")
    except BadRequest:
        return False
    return True


def _fits_batch(body: bytes | None) -> bool:
    try:
        parse_writes(body or b"")
    except BadRequest:
        return False
    return True


def _fits_path(kind: Any, value: object) -> bool:
    try:
        parse_value(kind, value, "path")
    except BadRequest:
        return False
    return True


def _size(exchanges: list[Exchange]) -> int:
    """How long the last request of a failure is for its reader."""
    request = exchanges[-1].request
    return len(request.path) + len(request.body or b"")


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()
