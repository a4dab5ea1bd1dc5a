"""Closes agents after each test: a connection left open is a warning, which fails the test."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.agent import world as worlds
from tests.unit.agent.world import World


@pytest.fixture
async def make(tmp_path: Path) -> AsyncIterator[Callable[..., World]]:
    """Makes agents, on the same workspace unless given their own folders."""
    made: list[World] = []

    def world(*arguments: Any, folder: str = ".", **more: Any) -> World:
        made.append(worlds.world(tmp_path / folder, *arguments, **more))
        return made[-1]

    yield world
    for it in made:
        await it.engine.aclose()
