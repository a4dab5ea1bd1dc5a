"""The OpenAPI document of the contract, for plugins and clients in any language."""

from importlib.resources import files
from typing import Any


def openapi_yaml(package: str = "contract") -> str:
    """The document of a package as it was written, comments included."""
    return files(package).joinpath("openapi.yaml").read_text("utf-8")


def openapi(package: str = "contract") -> dict[str, Any]:
    """The document of a package as a dict; each caller gets its own copy."""
    import yaml  # here, because servers start faster without it and most are never asked

    # The loader in C takes a tenth of the time, but not every build of PyYAML has it.
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    document: dict[str, Any] = yaml.load(openapi_yaml(package), loader)  # noqa: S506 - a safe one
    return document
