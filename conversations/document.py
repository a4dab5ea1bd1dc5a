"""The OpenAPI document, for generating clients in any language."""

from functools import cache
from typing import Any

import contract


@cache
def openapi() -> dict[str, Any]:
    """The document of this package; a test compares it with the endpoints."""
    return contract.openapi("conversations")
