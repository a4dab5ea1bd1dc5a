"""Commands of the plugin's author and our own, run by the shell or by name."""

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Mapping, Sequence

from harness.errors import HarnessError

_LONGEST = 300.0


async def run_in_shell(command: str) -> None:
    """Run a command of the user; it has succeeded if it exits with 0."""
    process = await asyncio.create_subprocess_shell(
        command, stdout=PIPE, stderr=STDOUT, start_new_session=True
    )
    code, output = await _finish(process, command)
    if code != 0:
        raise HarnessError(f"`{command}` failed with exit code {code}: {output[-300:]}")


async def run_program(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a program and return its exit code and its output."""
    try:
        process = await asyncio.create_subprocess_exec(
            *arguments,
            stdout=PIPE,
            stderr=STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    except FileNotFoundError:
        raise HarnessError(f"`{arguments[0]}` is not installed") from None
    return await _finish(process, arguments[0])


async def _finish(process: Process, name: str) -> tuple[int, str]:
    try:
        async with asyncio.timeout(_LONGEST):
            output, _ = await process.communicate()
    except TimeoutError:
        raise HarnessError(f"`{name}` did not return within {_LONGEST:g} s") from None
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return process.returncode or 0, output.decode("utf-8", "replace").strip()
