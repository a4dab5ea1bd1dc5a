"""The OpenAPI document, for generating clients in any language."""

from functools import cache
from importlib.resources import files
from typing import Any

import yaml


@cache
def openapi() -> dict[str, Any]:
    """The document of this package; a test compares it with the endpoints."""
    text = files("conversations").joinpath("openapi.yaml").read_text("utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    return document
