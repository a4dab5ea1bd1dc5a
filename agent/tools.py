"""What a tool is, and the registry that receives the model's tool calls."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from agent.arguments import InvalidArguments, check, with_integers


class Tool(Protocol):
    """`parameters` is the JSON schema of an object; `run` gets arguments that match it."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    async def run(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]: ...


class ToolRegistry:
    """The tools of an agent, in the order in which they were registered."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def register(self, tool: Tool) -> None:
        if tool.name in self._tools:
            raise ValueError(f"the tool {tool.name} is already registered")
        self._tools[tool.name] = tool

    def names(self) -> list[str]:
        return list(self._tools)

    def definitions(self) -> list[dict[str, Any]]:
        """The tools for the model, in OpenAI's function format."""
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in self._tools.values()
        ]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The tool's result as JSON. Nothing that a model requests raises."""
        try:
            answer = await self._answer(name, arguments)
            return json.dumps(answer, ensure_ascii=False, allow_nan=False)
        except Exception as error:  # noqa: BLE001 - the model gets the error and can do something else
            return _refused(f"The tool {name} failed: {str(error) or type(error).__name__}")

    async def _answer(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return _refusal(f"There is no tool {name}. There are: {known}.")
        if not isinstance(arguments, Mapping) or isinstance(arguments, InvalidArguments):
            return _refusal("The arguments must be a JSON object.")
        # Models send null for arguments they leave out.
        needed = tool.parameters.get("required", ())
        given = {key: it for key, it in arguments.items() if it is not None or key in needed}
        given = with_integers(given, tool.parameters)
        problem = check(given, tool.parameters)
        if problem:
            return _refusal(problem)
        return dict(await tool.run(given))


def _refusal(error: str) -> dict[str, Any]:
    return {"success": False, "error": error}


def _refused(error: str) -> str:
    return json.dumps(_refusal(error), ensure_ascii=False)
