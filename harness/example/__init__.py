"""A small complete memory plugin that keeps everything in memory: read it, copy it, build on it.

    uvicorn.run(create_app())
    create_app(capabilities=["fts", "ttl"], extensions=[])

`store` holds the rules of the contract, `search` finds, `app` speaks HTTP. It forgets everything
when it stops: a stand-in for tests and a pattern for authors, not a place to keep memories.
"""

from harness.example.app import ExamplePlugin, create_app
from harness.example.store import Row, Store

__all__ = ["ExamplePlugin", "Row", "Store", "create_app"]
