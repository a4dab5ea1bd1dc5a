"""The databases that the pages speak of."""

import uuid
from collections.abc import Iterator

import pytest

from tests.acceptance.docs.sandbox import LEGACY_URL, MEMORY_URL, RESTORED_URL
from tests.conftest import database_url, execute


@pytest.fixture
def databases(cluster: str) -> Iterator[dict[str, str]]:
    """By their address on the pages: empty ones, which the pages fill."""
    names = {
        address: f"page_{uuid.uuid4().hex}" for address in (LEGACY_URL, MEMORY_URL, RESTORED_URL)
    }
    urls = {address: database_url(cluster, name) for address, name in names.items()}
    execute(cluster, *(f'CREATE DATABASE "{name}"' for name in names.values()))
    try:
        yield urls
    finally:
        execute(cluster, *(f'DROP DATABASE "{name}" WITH (FORCE)' for name in names.values()))
