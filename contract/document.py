"""The OpenAPI document of the contract, for plugins and clients in any language."""

from importlib.resources import files
from typing import Any


def openapi_yaml() -> str:
    """The document as it was written, comments included."""
    return files("contract").joinpath("openapi.yaml").read_text("utf-8")


def openapi() -> dict[str, Any]:
    """The document as a dict; each caller gets its own copy."""
    import yaml  # here, because most users of this package never ask for the document

    # The loader in C takes a tenth of the time, but not every build of PyYAML has it.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document: dict[str, Any] = yaml.load(openapi_yaml(), loader)  # noqa: S506 - a safe one
    return document
