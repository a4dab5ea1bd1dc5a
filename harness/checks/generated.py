"""Cases that schemathesis generates from the OpenAPI document."""

import asyncio
import threading

from harness.check import check
from harness.trial import Trial

_DOCUMENT = (
    "The OpenAPI document is the single source of truth: what fits it is accepted, what does not is"
    " refused with 400, and every answer has the shape that it declares. Never 500."
)
_FUZZED = 12
_WALKS = 25


async def _play(trial: Trial, kind: str, examples: int = 1) -> None:
    # Imported here because it takes a second and most commands do not need it.
    from harness.generation import Generator, in_thread

    names = [await trial.namespace() for _ in range(3)] + [trial.name()]
    # The schema's limit is 256; the generator tries it and the length before it.
    long_names = [await trial.special_name("." + "0" * 256, longest=n) for n in (255, 256)]
    loop = asyncio.get_running_loop()

    def work(stopped: threading.Event) -> None:
        generator = Generator(trial, names, long_names, examples, loop, stopped)
        if kind == "walk":
            generator.walk()
            return
        for operation in generator.operations():
            if kind == "fuzz":
                generator.fuzz(operation)
                continue
            for case in getattr(generator, kind)(operation):
                generator.start_over()
                generator.play(case)

    await in_thread(work)


@check("generated.examples", _DOCUMENT, profile="full")
async def examples(trial: Trial) -> None:
    """Sends every example of the document."""
    await _play(trial, "examples")


@check("generated.coverage", _DOCUMENT, profile="full")
async def coverage(trial: Trial) -> None:
    """Sends about 500 requests at or just beyond the limits of the schemas."""
    await _play(trial, "coverage")


@check("generated.fuzzing", _DOCUMENT, profile="full")
async def fuzzing(trial: Trial) -> None:
    """Sends random requests, valid and invalid; `--seed` repeats them."""
    await _play(trial, "fuzz", _FUZZED)


@check("generated.stateful", _DOCUMENT, profile="full")
async def stateful(trial: Trial) -> None:
    """Follows the links of the document: create, write, search, repeat, forget, delete."""
    await _play(trial, "walk", _WALKS)
