"""Request bodies and the types of their fields."""

import re
import unicodedata
from typing import Annotated, Any, Final, Literal, get_args

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

import contract
from contract.model import AnyModel, load_json
from contract.scalars import WHOLE, Content, Text, check_content
from gateway.errors import BadRequest
from gateway.names import EDIT_PREFIX, RESOURCE_PREFIX

Role = Literal["user", "assistant", "tool"]
MAX_MESSAGES = 500
MAX_NAME = 256
YEAR_10000 = 253_402_300_800_000
_TAKEN = (RESOURCE_PREFIX, EDIT_PREFIX)
_USER_ID = re.compile(r"[A-Za-z0-9_.@+-]{1,128}")
_SCOPE_ID = re.compile(r"[A-Za-z0-9_.-]{1,128}")

ScopeName = Literal["current_chat", "resources", "all_user_memory"]
NARROWEST_FIRST: Final[tuple[ScopeName, ...]] = get_args(ScopeName)
DEFAULT_SCOPE: list[ScopeName] = ["current_chat", "resources"]


def is_user_id(name: str) -> bool:
    return _fits(_USER_ID, name)


def is_scope_id(name: str) -> bool:
    return _fits(_SCOPE_ID, name)


def _fits(pattern: re.Pattern[str], value: str) -> bool:
    return value not in (".", "..") and pattern.fullmatch(value) is not None


def _matches(pattern: re.Pattern[str], shape: str) -> AfterValidator:
    def check(value: str) -> str:
        if not _fits(pattern, value):
            raise ValueError(f"must be 1 to 128 of the characters {shape}, and not . or ..")
        return value

    return AfterValidator(check)


def is_plain(value: str, longest: int) -> bool:
    """Whether a name is printable ASCII and not blank, as nearly all are: no other rule applies."""
    return (
        value.isascii()
        and value.isprintable()
        and not value.isspace()
        and 0 < len(value) <= longest
    )


def is_plain_session(name: str, longest: int = MAX_NAME) -> bool:
    return is_plain(name, longest) and not name.startswith(_TAKEN)


def _session_name(longest: int) -> AfterValidator:
    def check(value: str) -> str:
        if is_plain_session(value, longest):
            return value
        check_content(value)
        if any(unicodedata.category(it) == "Cc" for it in value):
            raise ValueError("must not contain control characters")
        if len(value) > longest:
            raise ValueError(f"must be at most {longest} characters")
        if value.startswith(_TAKEN):
            raise ValueError(f"must not start with {RESOURCE_PREFIX} or {EDIT_PREFIX}")
        return value

    return AfterValidator(check)


def _name(value: str) -> str:
    return value if is_plain(value, MAX_NAME) else check_content(value)


def _joined(value: object) -> object:
    """The text of a message: as it is, or the text items of a list joined by newlines."""
    if not isinstance(value, list):
        return value
    texts = []
    for number, item in enumerate(value):
        if not isinstance(item, dict):
            raise ValueError(f"item {number} must be a JSON object")
        kind = item.get("type")
        if not isinstance(kind, str):
            raise ValueError(f"item {number} must have a type that is a string")
        if kind == "text":
            if not isinstance(item.get("text"), str):
                raise ValueError(f"item {number} must have a text that is a string")
            texts.append(item["text"])
    return "\n".join(texts)


UserId = Annotated[str, _matches(_USER_ID, "A-Z a-z 0-9 _ . @ + -")]
ScopeId = Annotated[str, _matches(_SCOPE_ID, "A-Z a-z 0-9 _ . -")]
SessionId = Annotated[str, _session_name(MAX_NAME)]
ConversationId = Annotated[str, _session_name(251)]
SenderId = Annotated[str, Field(max_length=MAX_NAME), AfterValidator(_name)]
Timestamp = Annotated[int, Field(gt=0, lt=YEAR_10000), WHOLE]
MessageText = Annotated[Text, BeforeValidator(_joined)]


class Request(contract.WireModel):
    """`null` for an optional field means that it is absent."""

    app_id: ScopeId = "default"
    project_id: ScopeId = "default"

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if None not in value.values():
            return value
        optional = {name for name, it in cls.model_fields.items() if not it.is_required()}
        return {k: v for k, v in value.items() if v is not None or k not in optional}


class SearchRequest(Request):
    """`POST /memories/search`."""

    query: Content = Field(repr=False)
    conversation_id: ConversationId | None = None
    scope: Annotated[list[ScopeName], Field(min_length=1)] = DEFAULT_SCOPE
    top_k: Annotated[int, Field(ge=1, le=100), WHOLE] = 8


class AddedMessage(contract.WireModel):
    """A message of `POST /memories/add`."""

    sender_id: SenderId
    role: Role
    timestamp: Timestamp
    content: MessageText = Field(repr=False)


class AddRequest(Request):
    """`POST /memories/add`."""

    session_id: SessionId
    messages: Annotated[list[AddedMessage], Field(min_length=1, max_length=MAX_MESSAGES)]


class FlushRequest(Request):
    """`POST /memories/flush`."""

    session_id: SessionId


class EditRequest(contract.WireModel):
    """`PATCH /memories/{id}`."""

    text: Content = Field(repr=False)


class NewUser(contract.WireModel):
    """`POST /users`."""

    user_id: UserId


class TextUpload(Request):
    """`POST /resources` as JSON."""

    text: Content = Field(repr=False)
    filename: Text | None = None
    content_type: Text | None = None
    title: Text | None = None


class UploadFields(Request):
    """The form fields of `POST /resources`, without the file."""

    title: Text | None = None


class FileNames(Request):
    """What a form says about its file."""

    filename: Text | None = None
    content_type: Text | None = None


class Place(Request):
    """The query parameters `app_id` and `project_id`."""


class PageRequest(Request):
    """The query parameters of `GET /resources`."""

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_limit(cls, value: Any) -> Any:
        limit = value.get("limit")
        if isinstance(limit, str) and re.fullmatch(r"[0-9]{1,9}", limit):
            return {**value, "limit": int(limit)}
        return value


def read_object(body: bytes | bytearray) -> dict[str, Any]:
    """The JSON object of a body; an empty body is an empty object."""
    if not body or body.isspace():
        return {}
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        # orjson rejects a lone surrogate without saying where. The slower parser accepts it, and
        # validation names the field.
        try:
            value = load_json(bytes(body))
        except contract.BadRequest as error:
            raise BadRequest(error.message, details=error.details) from None
    if not isinstance(value, dict):
        raise BadRequest.about("body", "must be a JSON object")
    return value


def read(model: type[AnyModel], values: dict[str, Any]) -> AnyModel:
    """Validate a request; `BadRequest` names the field."""
    request: AnyModel = check(model, values)
    return request


def check(kind: Any, value: object, field: str = "") -> Any:
    """Validate one value; `BadRequest` names the field."""
    try:
        return contract.parse_value(kind, value, field)
    except contract.BadRequest as error:
        raise BadRequest(error.message, details=error.details) from None
