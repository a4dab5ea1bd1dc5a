"""The OpenAPI document of the contract, for plugins and clients in any language."""

from importlib.resources import files
from typing import Any

import yaml


def openapi_yaml() -> str:
    """The document as it was written, comments included."""
    return files("contract").joinpath("openapi.yaml").read_text("utf-8")


def openapi() -> dict[str, Any]:
    """The document as a dict; each caller gets its own copy."""
    document: dict[str, Any] = yaml.safe_load(openapi_yaml())
    return document
