"""Which browser origins may call; a refusal is an Error object, as everywhere."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from conversations.answers import answer
from conversations.errors import BadRequest, envelope

_FIELDS = {
    "origin": "Origin",
    "method": "Access-Control-Request-Method",
    "headers": "Access-Control-Request-Headers",
}


class Cors(CORSMiddleware):
    """Starlette's, whose refusals are plain text: `Disallowed CORS origin, method`."""

    def preflight_response(self, request_headers: Headers) -> Response:
        asked = super().preflight_response(request_headers)
        if asked.status_code < 400:
            return asked
        words = bytes(asked.body).decode().rpartition("CORS ")[2].split(", ")
        error = BadRequest(_FIELDS.get(words[0], "Origin"), "is not allowed (CORS)")
        refused = answer(error.status, envelope(error.code, error.message, error.details))
        for name, value in asked.headers.items():
            refused.headers.setdefault(name, value)
        return refused
