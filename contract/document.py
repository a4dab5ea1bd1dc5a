"""The OpenAPI document of the contract: what a plugin or a client in any language is built from."""

from importlib.resources import files
from typing import Any

import yaml


def openapi_yaml() -> str:
    """The document as it was written, comments included."""
    return files("contract").joinpath("openapi.yaml").read_text("utf-8")


def openapi() -> dict[str, Any]:
    """The document as a dict of the caller's own, free to be changed."""
    document: dict[str, Any] = yaml.safe_load(openapi_yaml())
    return document
