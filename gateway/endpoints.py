"""The endpoints: each authenticates the caller, reads the request and responds."""

import tempfile
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar
from urllib.parse import unquote_to_bytes

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Scope

from contract import MemoryId
from gateway import wire
from gateway.additions import Addition, read_addition
from gateway.admin import Admin
from gateway.credentials import (
    NOBODY,
    Credentials,
    credentials,
    header,
    refuse_in_url,
    scheme_of,
)
from gateway.deletion import Deletion
from gateway.document import openapi
from gateway.errors import BadRequest, Forbidden, NotFound, TooLarge, Unauthorized, Unavailable
from gateway.export import Export
from gateway.flush import Flush
from gateway.forms import read_form
from gateway.kinds import charset_of
from gateway.memories import Memories
from gateway.messages import Messages
from gateway.models import Models
from gateway.names import is_resource_id
from gateway.plugin import Plugin
from gateway.resources import MAX_FORM, Deleted, Resources, Upload
from gateway.results import to_json
from gateway.search import Search
from gateway.users import User, Users
from postgres.database import Database
from serving.body import limited

VERSION = "1.0.0"

Arguments = ParamSpec("Arguments")
Asked = TypeVar("Asked")


class Endpoints:
    """One method per endpoint; `search`, `add` and `flush` are called by `gateway.calls`."""

    def __init__(
        self,
        *,
        admin: Admin,
        users: Users,
        messages: Messages,
        flush: Flush,
        search: Search,
        memories: Memories,
        deletion: Deletion,
        resources: Resources,
        database: Database,
        plugin: Plugin,
        models: Models,
    ) -> None:
        self._admin = admin
        self._users = users
        self._messages = messages
        self._flush = flush
        self._search = search
        self._memories = memories
        self._deletion = deletion
        self._resources = resources
        self._database = database
        self._plugin = plugin
        self._models = models

    async def health(self, _request: Request) -> Response:
        """Always 200: a gateway without its plugin still accepts messages."""
        database, backend = await self._database.is_up(), await self._plugin.is_up()
        return _json(
            {
                "status": "ok" if database and backend else "degraded",
                "version": VERSION,
                "api": "ok",
                "backend": "ok" if backend else "unavailable",
                "database": "ok" if database else "unavailable",
                "extractor": "llm" if self._models.finds_facts else "rules",
                "embedder": "on" if self._models.embeds else "off",
            }
        )

    async def openapi(self, _request: Request) -> Response:
        return _json(openapi())

    async def create_user(self, request: Request) -> Response:
        refuse_in_url(request.scope)
        self._admin.require(request)
        asked = wire.read(wire.NewUser, await _object(request))
        return _json(await self._users.create(asked.user_id), 201)

    async def rotate_key(self, request: Request) -> Response:
        refuse_in_url(request.scope)
        self._admin.require(request)
        return _json(await self._users.rotate_key(_user_id(request)))

    async def delete_user(self, request: Request) -> Response:
        user = await self._named_user(request)
        try:
            return _deleted(await self._deletion.delete_user(user))
        except NotFound:
            if scheme_of(request.scope) == "bearer":
                raise
            raise Unauthorized from None  # a concurrent request has deleted the user

    async def export(self, request: Request) -> Response:
        user = await self._named_user(request)
        if not await self._plugin.is_up():
            raise Unavailable("the memory plugin, which stores the memories, does not respond")
        export = Export(self._database, self._plugin, user)
        return StreamingResponse(export.lines(), media_type="application/x-ndjson")

    async def search(self, scope: Scope, fields: dict[str, Any]) -> dict[str, Any]:
        given = await self._given(scope, fields)
        asked = await self._read(given, wire.read, wire.SearchRequest, fields)
        return {"results": await self._search.search(given, asked)}

    async def add(self, scope: Scope, fields: dict[str, Any]) -> dict[str, Any]:
        given = await self._given(scope, fields)
        asked, key = await self._read(given, _addition, scope, fields)
        return await self._messages.add(given, asked, key)

    async def flush(self, scope: Scope, fields: dict[str, Any]) -> dict[str, Any]:
        given = await self._given(scope, fields)
        asked = await self._read(given, wire.read, wire.FlushRequest, fields)
        return await self._flush.flush(given, asked)

    async def edit(self, request: Request) -> Response:
        user, fields = await self._user_and_fields(request)
        memory_id = wire.check(MemoryId, request.path_params["id"], "id")
        asked = wire.read(wire.EditRequest, fields)
        return _json(await self._memories.edit(user, memory_id, asked.text))

    async def delete_memory(self, request: Request) -> Response:
        user, _ = await self._user_and_fields(request)
        memory_id = wire.check(MemoryId, request.path_params["id"], "id")
        return _deleted(await self._deletion.delete_memory(user, memory_id))

    async def delete_session(self, request: Request) -> Response:
        user, _ = await self._user_and_fields(request)
        name = wire.check(wire.SessionId, _session_id(request), "session_id")
        place = wire.read(wire.Place, dict(request.query_params))
        return _deleted(await self._deletion.delete_session(user, place, name))

    async def upload(self, request: Request) -> Response:
        refuse_in_url(request.scope)
        if request.headers.get("content-type", "").lower().startswith("multipart/"):
            return await self._upload_form(request)
        fields = wire.read_object(await _text_upload(request))
        given = await self._given(request.scope, fields)
        user = await self._users.authenticate(given)
        asked = wire.read(wire.TextUpload, fields)
        text = asked.text.encode()
        with tempfile.TemporaryFile() as file:
            file.write(text)
            file.flush()
            upload = Upload(
                "text",
                file,
                len(text),
                asked.filename,
                asked.content_type,
                "utf-8",
                asked.title,
            )
            return await self._keep(given, user, asked, upload)

    async def list_resources(self, request: Request) -> Response:
        user, _ = await self._user_and_fields(request)
        asked = wire.read(wire.PageRequest, dict(request.query_params))
        return _json(await self._resources.page(user, asked))

    async def get_resource(self, request: Request) -> Response:
        user, _ = await self._user_and_fields(request)
        place = wire.read(wire.Place, dict(request.query_params))
        return _json(await self._resources.get(user, place, _resource_id(request)))

    async def delete_resource(self, request: Request) -> Response:
        user, _ = await self._user_and_fields(request)
        place = wire.read(wire.Place, dict(request.query_params))
        return _deleted(await self._deletion.delete_resource(user, place, _resource_id(request)))

    async def _given(self, scope: Scope, fields: Mapping[str, Any]) -> Credentials:
        """The credentials of a request. Refusing missing ones takes as long as for a wrong key."""
        try:
            return credentials(scope, fields)
        except Unauthorized:
            await self._users.authenticate(NOBODY)
            raise

    async def _read(
        self,
        given: Credentials,
        read: Callable[Arguments, Asked],
        *arguments: Arguments.args,
        **options: Arguments.kwargs,
    ) -> Asked:
        """What `read` returns. A wrong key is refused before a bad request is reported."""
        try:
            return read(*arguments, **options)
        except BadRequest:
            await self._users.authenticate(given)
            raise

    async def _user_and_fields(self, request: Request) -> tuple[User, dict[str, Any]]:
        """The authenticated user and the fields of the body."""
        fields = await _object(request)
        return await self._users.authenticate(await self._given(request.scope, fields)), fields

    async def _named_user(self, request: Request) -> User:
        """The user in the path, if the caller is that user or an admin with a token."""
        refuse_in_url(request.scope)
        name = request.path_params["user_id"]
        if scheme_of(request.scope) == "bearer":
            self._admin.require_token(request)
            return await self._users.find(_user_id(request))
        user, _ = await self._user_and_fields(request)
        if user.user_id != name:
            raise Forbidden("the credentials belong to another user")
        return user

    async def _upload_form(self, request: Request) -> Response:
        receive = limited(request.scope["headers"], request.receive, MAX_FORM)
        form = await read_form(Request(request.scope, receive))
        try:
            fields = _fields(form)
            files = form.getlist("file")
            given = await self._given(request.scope, fields)
            user = await self._users.authenticate(given)
            asked = wire.read(wire.UploadFields, fields)
            if len(files) != 1 or not isinstance(files[0], UploadFile):
                raise BadRequest.about("file", "must be one file")
            file = files[0]
            names = {"filename": file.filename or None, "content_type": file.content_type}
            named = wire.read(wire.FileNames, names)
            kind = named.content_type
            upload = Upload(
                "file",
                file.file,
                file.size or 0,
                named.filename,
                kind,
                charset_of(kind),
                asked.title,
            )
            return await self._keep(given, user, asked, upload)
        finally:
            await form.close()

    async def _keep(
        self, given: Credentials, user: User, place: wire.Request, upload: Upload
    ) -> Response:
        for _ in range(2):
            try:
                status, resource = await self._resources.upload(user, place, upload)
            except Deleted:
                # After a deletion the file is new. If the user was deleted, the response is 401.
                user = await self._users.authenticate(given)
            else:
                return _json(resource, status)
        raise Unavailable("the resource was deleted while it was uploaded; upload it again")


def _addition(scope: Scope, fields: dict[str, Any]) -> tuple[Addition, str | None]:
    """What an add asks for, and its idempotency key."""
    return read_addition(fields), header(scope, b"idempotency-key")


async def _object(request: Request) -> dict[str, Any]:
    refuse_in_url(request.scope)
    return wire.read_object(await request.body())


async def _text_upload(request: Request) -> bytearray:
    """The body of a JSON upload; `TooLarge` if it is too large even without its escapes.

    The Content-Length cannot tell, because \\uXXXX takes six bytes and may stand for one.
    """
    body, size = bytearray(), 0
    async for chunk in request.stream():
        body += chunk
        size += len(chunk) - 4 * chunk.count(b"\\u") - chunk.count(b"\\")
        if size > MAX_FORM:
            raise TooLarge(f"body: must be at most {MAX_FORM} bytes, not counting JSON escapes")
    return body


def _fields(form: FormData) -> dict[str, str]:
    """The fields of a form, without its file. A repeated field must have the same value."""
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        if isinstance(value, str) and fields.setdefault(name, value) != value:
            raise BadRequest.about(name, "appears twice in the form, with different values")
    return fields


def _user_id(request: Request) -> str:
    """The user in the path; `NotFound` if it is not a valid user id."""
    name: str = request.path_params["user_id"]
    if not wire.is_user_id(name):
        raise NotFound("this user does not exist")
    return name


def _session_id(request: Request) -> str:
    """The session in the path; `BadRequest` if it is not UTF-8."""
    try:
        unquote_to_bytes(request.scope["raw_path"]).decode()
    except UnicodeDecodeError:
        raise BadRequest.about("session_id", "must be UTF-8") from None
    name: str = request.path_params["session_id"]
    return name


def _resource_id(request: Request) -> str:
    """The resource in the path; `NotFound` if it is not a valid resource id."""
    name: str = request.path_params["resource_id"]
    if not is_resource_id(name):
        raise NotFound("this resource does not exist")
    return name


def _json(body: Mapping[str, Any], status: int = 200) -> Response:
    return Response(to_json(body), status, media_type="application/json")


def _deleted(is_confirmed: bool) -> Response:
    return Response(status_code=204) if is_confirmed else _json({"status": "deleting"}, 202)
