"""The OpenAPI document of the gateway."""

from functools import cache
from importlib import resources
from typing import Any


@cache
def openapi() -> dict[str, Any]:
    """The document as a Python object."""
    text = (resources.files("gateway") / "openapi.yaml").read_text("utf-8")
    import yaml  # here, because a server starts faster without it

    # The loader in C takes a tenth of the time, but not every build of PyYAML has it.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document: dict[str, Any] = yaml.load(text, loader)  # noqa: S506 - a safe one
    return document
