"""`make demo-agent`: an agent remembers, loses its gateway for a while, and forgets on request.

The model's replies are scripted here. Everything else is real: the gateway, its PostgreSQL, what is
recalled, the events, the deletion.
"""

import asyncio
import json
import logging
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import httpx
from rich.console import Console
from rich.text import Text

from agent import (
    RECALL_LABEL,
    AgentConfig,
    EngineLoader,
    EngineLoadResult,
    GatewayConfig,
    MemoryConfig,
    ProviderReply,
    ScriptedProvider,
    ToolCall,
)
from demo.gateway import Gateway, KilledBeforeFlush

USER = "ada"


class Story:
    """One user, one workspace, one gateway."""

    def __init__(self, console: Console, gateway: Gateway, directory: Path) -> None:
        self._console = console
        self.gateway = gateway
        self._workspace = directory / "workspace"
        self.key = gateway.new_user(USER)

    def chapter(self, title: str, sentence: str) -> None:
        self._console.print()
        self._console.rule(Text(title, style="bold cyan"), align="left", style="cyan")
        self.say(sentence)

    def say(self, sentence: str) -> None:
        self._console.print(sentence, highlight=False, markup=False)

    async def talk(
        self,
        session: str,
        prompt: str,
        *replies: ProviderReply | str,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> list[str]:
        """Show one run; returns the texts that were recalled for it."""
        provider = ScriptedProvider(replies)
        engine = self._load(provider, transport)
        self._show("Ada", prompt, "bold")
        before = len(engine.sessions.events(session))
        try:
            result = await engine.loop.run(prompt, session_id=session)
            recalled = _recalled(provider.calls[0].messages)
            for text in recalled:
                self._show("recalled", text.replace("\n", " / "), "dim")
            self._show("Agent", result.text, "green")
            for event in engine.sessions.events(session)[before:]:
                if event.name.startswith("memory_gateway"):
                    self._show("event", f"{event.name} {json.dumps(event.payload)}", "dim")
        finally:
            await engine.aclose()
        return recalled

    def note(self) -> str:
        return (self._workspace / "memory" / "USER.md").read_text()

    def _load(
        self, provider: ScriptedProvider, transport: httpx.AsyncBaseTransport | None
    ) -> EngineLoadResult:
        gateway = GatewayConfig(
            base_url=self.gateway.url,
            user_id=USER,
            user_key=self.key,
            scope=("all_user_memory",),
            top_k=3,
        )
        memory = MemoryConfig(mode="hybrid", explicit=True, gateway=gateway)
        config = AgentConfig(memory=memory, provider=None, workspace=self._workspace)
        return EngineLoader(config, provider=provider, gateway_transport=transport).load()

    def _show(self, who: str, what: str, style: str) -> None:
        self._console.print(Text.assemble((f"{who:>9}  ", "cyan"), (what, style)))


def _recalled(messages: Sequence[dict[str, str]]) -> list[str]:
    found = [it["content"] for it in messages if it["content"].startswith(RECALL_LABEL)]
    return [json.loads(line)["text"] for content in found for line in content.splitlines()[1:]]


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"the demo expected that {what}; please report it")


async def tell(console: Console, gateway: Gateway, directory: Path) -> None:
    """Run the whole demo; it ends if anything does not go as expected."""
    gateway.start()
    story = Story(console, gateway, directory)
    story.chapter(
        "1. Ada talks with an agent", "The agent sends each turn to the gateway after answering."
    )
    await story.talk("monday", "My cat is called Miso and she is afraid of trains.", "Poor Miso!")
    note = {"action": "add", "target": "user", "content": "Likes short answers."}
    call = ProviderReply(tool_calls=(ToolCall(id="1", name="memory", arguments=note),))
    await story.talk("monday", "And please keep your answers short.", call, "Sure.")
    story.say(f"\nThe model also made a note, in USER.md: {story.note()}")

    story.chapter(
        "2. Another day, another session",
        "Monday's messages are not in this session. The agent searches the gateway first.",
    )
    recalled = await story.talk("tuesday", "What is my cat afraid of?", "Trains.")
    _expect(any("Miso" in text for text in recalled), "Monday is recalled on Tuesday")

    story.chapter(
        "3. The gateway is killed in the middle of a turn",
        "kill -9, after it stored the messages and before it turned them into memories.",
    )
    transport = KilledBeforeFlush(gateway)
    await story.talk("tuesday", "Her vet is Dr. Okafor.", "Noted.", transport=transport)
    story.say("\nIt is down now. The agent keeps working; the events show what failed:")
    await story.talk("wednesday", "Are you still there?", "Yes.")

    story.chapter(
        "4. It comes back and catches up",
        "The messages it accepted were on disk. The next turn of that session flushes them too.",
    )
    gateway.start()
    await story.talk("tuesday", "She likes him.", "Good to hear.")
    recalled = await story.talk("thursday", "Who is my cat's vet?", "Dr. Okafor.")
    found = [text for text in recalled if "User: Her vet is Dr. Okafor." in text]
    _expect(len(found) == 1, "the turn is recalled exactly once")

    story.chapter(
        "5. Ada wants it forgotten", "First Monday's conversation, then everything about her."
    )
    status = gateway.delete("/sessions/chat:monday", USER, story.key)
    story.say(f"DELETE /sessions/chat:monday: {status}")
    _expect(status == 204, "a session can be deleted")
    reply = "You asked about a cat before, but I do not know her name."
    recalled = await story.talk("friday", "What is my cat called?", reply)
    _expect(not any("Miso" in text for text in recalled), "deletion means gone")
    status = gateway.delete(f"/users/{USER}", USER, story.key)
    story.say(f"\nDELETE /users/{USER}: {status}")
    _expect(status == 204, "a user can be deleted")
    console.print()
    console.rule(style="cyan")
    console.print("Everything was stopped and its data deleted.")


def main() -> None:
    logging.getLogger("agent").addHandler(logging.NullHandler())
    # Clean up also when the demo is terminated.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="mp-demo-") as name:
        gateway = Gateway(Path(name))
        try:
            asyncio.run(tell(Console(), gateway, Path(name)))
        finally:
            gateway.stop()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nstopped; everything that ran is stopped, and its data is gone")
