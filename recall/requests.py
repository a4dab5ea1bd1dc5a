"""The request bodies and query strings of REST and MCP, with their validation."""

from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from contract import BadRequest
from contract.model import load_json
from contract.scalars import WHOLE, Content, JsonObject, Text, Time
from recall.errors import Invalid, invalid, refused
from recall.memory import (
    MAX_METADATA,
    MAX_METADATA_DEPTH,
    MAX_OWNER,
    SHARED,
    MemoryType,
    is_metadata,
    is_owner,
    is_shallow,
)
from recall.retrieval import MAX_BUDGET, Scope

MAX_CONTENT = 100_000
MAX_KEY = 512
MAX_SESSION = 512


def _check_owner(value: str) -> str:
    if value != SHARED and not is_owner(value):
        raise ValueError(f"must have at most {MAX_OWNER} characters, without control characters")
    return value


def _check_metadata(value: dict[str, Any]) -> dict[str, Any]:
    if not is_metadata(value):
        raise ValueError(f"must have at most {MAX_METADATA} bytes of JSON")
    return value


def _check_depth(value: Any) -> Any:
    if not is_shallow(value):
        raise ValueError(f"must not be nested deeper than {MAX_METADATA_DEPTH} levels")
    return value


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("must not be null")
    return value


Owner = Annotated[str, AfterValidator(_check_owner)]
Key = Annotated[Text, Field(min_length=1, max_length=MAX_KEY)]
Session = Annotated[Text, Field(max_length=MAX_SESSION)]
MemoryContent = Annotated[Content, Field(min_length=1, max_length=MAX_CONTENT)]
Metadata = Annotated[JsonObject, BeforeValidator(_check_depth), AfterValidator(_check_metadata)]
Whole = Annotated[int, WHOLE]
# A field that may be omitted must still not be null.
GIVEN = BeforeValidator(_not_null)


class Body(BaseModel):
    """Strict types, and no unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)

    def given(self, *names: str) -> dict[str, Any]:
        """The values of these fields that were sent."""
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}


class MemoryBody(Body):
    """`POST /api/memory`."""

    content: MemoryContent = Field(repr=False)
    key: Key
    type: Annotated[MemoryType | None, GIVEN] = None
    sessionId: Annotated[Session | None, GIVEN] = None
    apiKeyId: Annotated[Owner, GIVEN] = SHARED
    metadata: Annotated[Metadata | None, GIVEN] = None
    expiresAt: Time | None = None


class MemoryChange(Body):
    """`PUT /api/memory/{id}`."""

    type: Annotated[MemoryType | None, GIVEN] = None
    key: Annotated[Key | None, GIVEN] = None
    content: Annotated[MemoryContent | None, GIVEN] = Field(default=None, repr=False)
    metadata: Annotated[Metadata | None, GIVEN] = None
    sessionId: Annotated[Session | None, GIVEN] = None
    expiresAt: Time | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "MemoryChange":
        if not self.model_fields_set:
            raise ValueError("must have a field to change")
        return self


class DeleteBody(Body):
    """`POST /api/memory/delete`: ids, or an owner with conditions."""

    ids: Annotated[list[Text] | None, GIVEN, Field(min_length=1, max_length=1000)] = None
    apiKeyId: Annotated[Owner | None, GIVEN] = None
    type: Annotated[MemoryType | None, GIVEN] = None
    sessionId: Annotated[Session | None, GIVEN] = None
    olderThan: Annotated[Time | None, GIVEN] = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> "DeleteBody":
        if (self.ids is None) == (self.apiKeyId is None):
            raise ValueError("must have either ids or apiKeyId")
        if self.ids is not None and len(self.model_fields_set) > 1:
            raise ValueError("must not combine ids with other fields")
        return self


class ImportLine(BaseModel):
    """One memory of an import; other fields of an export are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    content: MemoryContent = Field(repr=False)
    key: Key
    type: MemoryType | None = None
    sessionId: Session | None = None
    apiKeyId: Owner = SHARED
    metadata: Metadata | None = None
    createdAt: Time | None = None
    updatedAt: Time | None = None
    expiresAt: Time | None = None


class PreviewBody(Body):
    """`POST /api/memory/retrieve-preview`."""

    query: Annotated[Text, Field(max_length=MAX_CONTENT)] = Field(repr=False)
    strategy: Literal["exact", "semantic", "hybrid"] = "hybrid"
    maxTokens: Annotated[Whole, Field(ge=1, le=16000)] = 2000
    apiKeyId: Annotated[Owner | None, GIVEN] = None
    sessionId: Annotated[Session | None, GIVEN] = None
    scope: Annotated[Scope | None, GIVEN] = None
    limit: Annotated[Whole, Field(ge=1, le=100)] = 20


class ExtractBody(Body):
    """`POST /api/memory/extract-preview`."""

    text: Text = Field(repr=False)
    speaker: Literal["user", "assistant"] = "user"


class SummarizeBody(Body):
    """`POST /api/memory/summarize`: by age, or down to a budget."""

    apiKeyId: Annotated[Owner | None, GIVEN] = None
    sessionId: Annotated[Session | None, GIVEN] = None
    olderThanDays: Annotated[Whole | None, GIVEN, Field(ge=1, le=365)] = None
    maxTokens: Annotated[Whole | None, GIVEN, Field(ge=1)] = None
    dryRun: bool = False

    @model_validator(mode="after")
    def _has_one_mode(self) -> "SummarizeBody":
        if self.olderThanDays is not None and self.maxTokens is not None:
            raise ValueError("must have olderThanDays or maxTokens, not both")
        return self


class RestoreBody(Body):
    """`POST /api/memory/restore`."""

    runId: Text


class ReindexBody(Body):
    """`POST /api/memory/reindex`."""

    force: bool = False


class KeyBody(Body):
    """`POST /api/keys`."""

    name: Annotated[Text, Field(min_length=1, max_length=200)]


class KeyChange(Body):
    """`PATCH /api/keys/{id}`."""

    name: Annotated[Text | None, GIVEN, Field(min_length=1, max_length=200)] = None
    disabled: Annotated[bool | None, GIVEN] = None


class SearchArguments(Body):
    """The tool `memory_search`.

    Models often write null for what they leave out, so it means the same in all tools.
    """

    apiKeyId: Owner | None = None
    query: Annotated[Text, Field(max_length=MAX_CONTENT)] | None = Field(default=None, repr=False)
    type: MemoryType | None = None
    maxTokens: Annotated[Whole, Field(ge=1, le=MAX_BUDGET)] | None = None
    limit: Annotated[Whole, Field(ge=1, le=100)] | None = None


class AddArguments(Body):
    """The tool `memory_add`."""

    apiKeyId: Owner | None = None
    sessionId: Session | None = None
    type: MemoryType
    key: Key
    content: MemoryContent = Field(repr=False)
    metadata: Metadata | None = None


class ClearArguments(Body):
    """The tool `memory_clear`."""

    apiKeyId: Owner | None = None
    type: MemoryType | None = None
    olderThan: Time | None = None


AnyBody = TypeVar("AnyBody", bound=BaseModel)


def read_body(model: type[AnyBody], body: bytes) -> AnyBody:
    """Parse and validate a body; raises `Invalid`, naming the fields."""
    try:
        value = load_json(body)
    except BadRequest as error:
        raise invalid("body", error.message.removeprefix("body: ")) from None
    return check(model, value)


def check(model: type[AnyBody], value: Any) -> AnyBody:
    """Validate a value; raises `Invalid`, naming the fields."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise refused(error) from None
    except RecursionError:
        raise invalid("body", "must not be nested too deeply") from None


class Query:
    """The query string of a request; every malformed value raises `Invalid`."""

    def __init__(self, raw: bytes) -> None:
        self._values: dict[str, str] = {}
        try:
            pairs = parse_qsl(
                raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100
            )
        except (ValueError, UnicodeDecodeError):
            raise Invalid("query: must be percent-encoded UTF-8") from None
        for name, value in pairs:
            if name in self._values:
                raise invalid(_shown(name), "must not be given twice")
            if "\x00" in value:
                raise invalid(_shown(name), "must not contain a NUL character")
            self._values[name] = value

    def text(self, name: str, most: int) -> str | None:
        value = self._values.get(name)
        if value is not None and len(value) > most:
            raise invalid(name, f"must have at most {most} characters")
        return value

    def owner(self, name: str = "apiKeyId") -> str | None:
        value = self._values.get(name)
        if value is None or value == SHARED or is_owner(value):
            return value
        raise invalid(name, f"must have at most {MAX_OWNER} characters, without control characters")

    def choice(self, name: str, *choices: str) -> str | None:
        value = self._values.get(name)
        if value is not None and value not in choices:
            raise invalid(name, f"must be one of {', '.join(choices)}")
        return value

    def whole(self, name: str, least: int, most: int) -> int | None:
        value = self._values.get(name)
        if value is None:
            return None
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise invalid(name, "must be a whole number")
        if len(digits) > 12 or not least <= int(value) <= most:
            raise invalid(name, f"must be at least {least} and at most {most}")
        return int(value)


def _shown(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name[:60]) or "query"
