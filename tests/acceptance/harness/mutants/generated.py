"""Plugins whose faults only generated cases find."""

import json

from starlette.requests import Request
from starlette.responses import Response

from harness.example import ExamplePlugin
from tests.acceptance.harness.mutants import mutant
from tests.acceptance.harness.mutants.refusals import Breaks


@mutant("metadata with an empty key is a 500.", "generated.coverage")
class EmptyKeyBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        return b'"": ' in body


@mutant("A second answer has a field of the wrong type.", "generated.examples")
class WrongTypeInTheAnswer(ExamplePlugin):
    async def put_namespace(self, request: Request) -> Response:
        response = await super().put_namespace(request)
        if b'"owner"' not in bytes(response.body):
            return response
        body = json.loads(bytes(response.body))
        return Response(json.dumps(body | {"expires_at": 7}), media_type="application/json")


@mutant("Characters beyond the basic plane in content are a 500.", "generated.fuzzing")
class AstralBreaks(Breaks):
    def breaks(self, body: bytes) -> bool:
        try:
            text = json.dumps(json.loads(body), ensure_ascii=False)
        except ValueError:
            return False
        return any(char > "\u00ff" for char in text)
