"""A small, complete memory plugin that keeps everything in RAM: read it, copy it, build on it.

    uvicorn.run(create_app())
    create_app(capabilities=["fts", "ttl"], extensions=[])

`store` implements the rules of the contract, `search` the ranking, `app` HTTP. It loses everything
when it stops: it is for tests and as a model for authors, not for production.
"""

from harness.example.app import ExamplePlugin, create_app
from harness.example.store import Row, Store

__all__ = ["ExamplePlugin", "Row", "Store", "create_app"]
