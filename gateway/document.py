"""The OpenAPI document of the gateway."""

from functools import cache
from typing import Any

import contract


@cache
def openapi() -> dict[str, Any]:
    """The document as a Python object."""
    return contract.openapi("gateway")
