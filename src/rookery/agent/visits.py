"""The visits of an agent: one for each wish, and no more than a few at once."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable

from rookery.agent.visit import LIMITS, NotWantedError, Visit, VisitLimits
from rookery.errors import RookeryError

_log = logging.getLogger(__name__)


class Visits:
    """Owns the tasks; `called` begins a visit unless that wish has one."""

    def __init__(self, visit: Callable[[int], Visit], limits: VisitLimits = LIMITS) -> None:
        self._visit = visit
        self._limits = limits
        self._running: dict[int, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        self.tally: Counter[str] = Counter()  # calls by what became of them

    def called(self, wish: int) -> None:
        """The hub repeats its call with every report, until we come."""
        if wish in self._running:
            self.tally["repeated"] += 1
        elif len(self._running) >= self._limits.visits_max:
            if not self.tally["too_many"]:
                _log.warning("wish %016x has to wait: %d visits at once", wish, len(self._running))
            self.tally["too_many"] += 1
        else:
            task = self._loop.create_task(self._run(wish))
            self._running[wish] = task
            task.add_done_callback(lambda _: self._running.pop(wish))

    @property
    def running(self) -> int:
        return len(self._running)

    async def close(self) -> None:
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, wish: int) -> None:
        try:
            await self._visit(wish).run()
            self.tally["fulfilled"] += 1
        except NotWantedError:
            self.tally["not_wanted"] += 1
        except RookeryError as error:
            self.tally["failed"] += 1
            _log.warning("wish %016x: %s", wish, error)
