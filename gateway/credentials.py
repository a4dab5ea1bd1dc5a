"""The credentials of a request: `user_id` and `user_key`, in the body or as HTTP Basic."""

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import QueryParams
from starlette.types import Scope

from contract.scalars import Text
from gateway.errors import BadRequest, Unauthorized
from gateway.wire import check

_FIELDS = ("user_id", "user_key")


@dataclass(frozen=True, slots=True)
class Credentials:
    """As given in the request, not yet checked."""

    user_id: str
    key_sha256: bytes = field(repr=False)


# For a request without credentials. This user does not exist, but the lookup takes the usual time.
NOBODY = Credentials("", bytes(32))


def credentials(scope: Scope, fields: Mapping[str, Any]) -> Credentials:
    """The credentials of a request whose body or form has these fields.

    Raises `Unauthorized` if they are incomplete, and `BadRequest` if they are not strings or differ
    between body and header.
    """
    user_id, user_key = _text(fields, "user_id"), _text(fields, "user_key")
    if header(scope, b"authorization") is not None:
        given = {"user_id": user_id, "user_key": user_key}
        for name, value in _basic(scope).items():
            if given[name] not in (None, value):
                raise BadRequest.about(name, "differs from the one in the Authorization header")
            given[name] = value
        user_id, user_key = given["user_id"], given["user_key"]
    if not user_id or not user_key:
        raise Unauthorized
    return Credentials(user_id, hash_key(user_key))


def refuse_in_url(scope: Scope) -> None:
    if not scope["query_string"]:
        return
    asked = QueryParams(scope["query_string"])
    for name in _FIELDS:
        if name in asked:
            raise BadRequest.about(name, "must not be in the URL, where it would be logged")


def hash_key(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header; the name is in lower case. Repeated values must be equal."""
    found: bytes | None = None
    for given, value in scope["headers"]:
        if given == name:
            if found is not None and value != found:
                raise BadRequest.about(
                    name.decode().title(), "appears twice, with different values"
                )
            found = value
    return None if found is None else found.decode("latin-1")


def scheme_of(scope: Scope) -> str:
    """The first word of the Authorization header in lower case; empty without one."""
    return _authorization(scope)[0]


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    """A field as a text that can be stored; most are plain ASCII, which needs no other check."""
    value = fields.get(name)
    if value is None or (type(value) is str and value.isascii() and value.isprintable()):
        return value
    text: str = check(Text, value, name)
    return text


def _authorization(scope: Scope) -> tuple[str, str]:
    """The scheme and the credentials of the Authorization header."""
    scheme, _, given = (header(scope, b"authorization") or "").strip().partition(" ")
    return scheme.lower(), given.strip()


def _basic(scope: Scope) -> dict[str, str]:
    scheme, encoded = _authorization(scope)
    if scheme != "basic":
        return {}
    try:
        text = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise Unauthorized from None
    user_id, colon, user_key = text.partition(":")
    if not colon or "\x00" in text:
        raise Unauthorized
    return {"user_id": user_id, "user_key": user_key}
