"""The OpenAPI document of the gateway."""

from functools import cache
from importlib import resources
from typing import Any

import yaml


@cache
def openapi() -> dict[str, Any]:
    """The document as a Python object."""
    text = (resources.files("gateway") / "openapi.yaml").read_text("utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    return document
