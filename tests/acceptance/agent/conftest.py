"""The agents of the unit tests, here from outside."""

from tests.unit.agent.conftest import make

__all__ = ["make"]
