"""The conversation in a terminal or a pipe."""

import asyncio
import os
import sys
import unicodedata

from agent.loop import AgentLoop


class Chat:
    """Only answers go to stdout."""

    def __init__(self, loop: AgentLoop, runner: asyncio.Runner, session_id: str | None) -> None:
        self._loop = loop
        self._runner = runner
        self._session_id = session_id

    def answer(self, prompt: str) -> bool:
        """Ask once; False if the run failed."""
        result = self._runner.run(
            self._loop.run(prompt, session_id=self._session_id, on_answer=_print)
        )
        self._session_id = result.session_id
        if result.finish_reason == "error":
            _note(f"memory-agent: the run failed: {result.error}")
        return result.finish_reason != "error"

    def read_and_answer(self) -> bool:
        """Answer until the input ends; False if a run failed."""
        interactive = sys.stdin.isatty()
        if interactive:
            _note("Ctrl-D ends the conversation, /new starts a new session.")
        ok = True
        while (line := _read(interactive)) is not None:
            if line.strip() == "/new":
                self._session_id = None
                _note("A new session.")
            elif line.strip():
                ok = self._answer_or_stop(line, interactive) and ok
        if self._session_id and interactive:
            _note(f"To continue: memory-agent chat --session {self._session_id}")
        return ok

    def _answer_or_stop(self, line: str, interactive: bool) -> bool:
        """Ctrl-C stops the answer, not the conversation."""
        try:
            return self.answer(line)
        except KeyboardInterrupt:
            if not interactive:
                raise
            _note("Stopped.")
            return True


def _read(interactive: bool) -> str | None:
    if interactive:
        try:
            return input("> ")
        except EOFError:
            _note("")
            return None
    line = sys.stdin.readline()
    return line.rstrip("\r\n") if line else None


def _print(answer: str) -> None:
    if sys.stdout.isatty():
        # A model must not move the cursor or change the title of somebody's terminal.
        answer = "".join(it for it in answer if it in "\n\t" or unicodedata.category(it) != "Cc")
    try:
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe; keep the turn anyway.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
