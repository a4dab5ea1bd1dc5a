"""The OpenAPI document of the contract, for plugins and clients in any language."""

from importlib.resources import files
from typing import Any

import yaml

# The loader in C takes a tenth of the time, but not every build of PyYAML has it.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def openapi_yaml() -> str:
    """The document as it was written, comments included."""
    return files("contract").joinpath("openapi.yaml").read_text("utf-8")


def openapi() -> dict[str, Any]:
    """The document as a dict; each caller gets its own copy."""
    document: dict[str, Any] = yaml.load(openapi_yaml(), _Loader)  # noqa: S506 - a safe one
    return document
