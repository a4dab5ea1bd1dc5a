"""A run in its own thread: synchronous callers wait for one result while others continue."""

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Any

from harness.errors import HarnessError
from harness.report import Report, Result
from harness.runner import CheckFinished, Event, run_async
from harness.settings import Settings
from harness.target import Target


class BackgroundRun:
    """Runs all checks of the settings concurrently; starts at once and ends with `stop`."""

    def __init__(self, target: Target, settings: Settings) -> None:
        self._target = target
        self._settings = settings
        self._results: dict[str, Future[Result]] = {
            check.id: Future() for check in settings.checks()
        }
        self._report: Future[Report] = Future()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._run())
        self._thread = Thread(target=self._work, name="memory-harness")
        self._thread.start()

    def result(self, check_id: str) -> Result:
        """Wait for the result of one check; raises `HarnessError` if there will be none."""
        return self._results[check_id].result()

    def report(self) -> Report:
        """Wait for the end of the run; raises `HarnessError` if it had to end early."""
        return self._report.result()

    def stop(self) -> None:
        """Cancel what is still running, and return when everything is cleaned up."""
        # The loop may have closed by itself in the meantime.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    async def _run(self) -> Report:
        return await run_async(self._target, self._settings, reporters=[self._take])

    def _take(self, event: Event) -> None:
        if isinstance(event, CheckFinished):
            self._results[event.result.id].set_result(event.result)

    def _work(self) -> None:
        reason: BaseException
        try:
            self._report.set_result(self._loop.run_until_complete(self._task))
            reason = HarnessError("the run has no such check")
        except asyncio.CancelledError:
            reason = HarnessError("the run was stopped")
        except Exception as error:  # noqa: BLE001 (whoever waits gets it)
            reason = error
        finally:
            self._loop.close()
        unanswered: list[Future[Any]] = [*self._results.values(), self._report]
        for future in unanswered:
            if not future.done():
                future.set_exception(reason)
