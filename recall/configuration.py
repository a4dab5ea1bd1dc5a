"""The memory settings that can be changed while the server runs, stored in PostgreSQL.

The dashboard shows these; `recall.settings` has the flags of the command.
"""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from contract.scalars import WHOLE, check_text
from recall.injection import Placement, Providers
from recall.retrieval import MAX_BUDGET, Scope

MAX_NAMES = 50


def _check_url(value: str) -> str:
    check_text(value)
    try:
        parts = urlsplit(value)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        has_host = False
    if not has_host or parts.scheme not in ("http", "https") or not parts.path.endswith("/v1"):
        raise ValueError("must be an http or https URL that ends in /v1")
    if parts.query or parts.fragment or any(c.isspace() for c in value):
        raise ValueError("must be a URL without a query, a fragment or white space")
    return value


def _not_blank(value: str) -> str:
    check_text(value)
    if not value.strip():
        raise ValueError("must not be blank")
    return value


Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_not_blank)]


class Configuration(BaseModel):
    """All settings with their defaults and ranges."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)

    enabled: bool = True
    extractionEnabled: bool = True
    injectionEnabled: bool = True
    maxTokens: Annotated[int, Field(ge=0, le=16000), WHOLE] = 2000
    retentionDays: Annotated[int, Field(ge=1, le=365), WHOLE] = 30
    strategy: Literal["recent", "semantic", "hybrid"] = "hybrid"
    scope: Scope = "apiKey"
    placement: Placement = "auto"
    providersWithoutSystem: Annotated[list[Name], Field(max_length=MAX_NAMES)] = Field(
        default_factory=list
    )
    providersSystemFirst: Annotated[list[Name], Field(max_length=MAX_NAMES)] = Field(
        default_factory=list
    )
    retrievalBudgetMs: Annotated[int, Field(ge=1, le=5000), WHOLE] = 250
    embeddingUrl: Annotated[str, Field(max_length=2000), AfterValidator(_check_url)] | None = None
    embeddingModel: Name | None = None
    skillsEnabled: bool = False

    @property
    def effective_max_tokens(self) -> int:
        """The most tokens that a block may use."""
        return min(self.maxTokens, MAX_BUDGET)

    @property
    def injects(self) -> bool:
        return self.enabled and self.injectionEnabled and self.maxTokens > 0

    @property
    def extracts(self) -> bool:
        return self.enabled and self.extractionEnabled

    @property
    def providers(self) -> Providers:
        return Providers.with_more(self.providersWithoutSystem, self.providersSystemFirst)

    def to_json(self) -> dict[str, Any]:
        """All settings as REST shows them."""
        return {**self.model_dump(), "effectiveMaxTokens": self.effective_max_tokens}


def stored_configuration(stored: dict[str, Any]) -> Configuration:
    """The settings from the stored values, ignoring names that this release does not know."""
    known = {name: value for name, value in stored.items() if name in Configuration.model_fields}
    return Configuration.model_validate(known)
