"""Runs a race over exits with real attempts: the core decides, this does."""

import asyncio

from rookery.errors import RookeryError
from rookery.link.channels.sock import Address
from rookery.mesh.proxy.answer import Answer
from rookery.mesh.proxy.fault import Fault
from rookery.mesh.proxy.opening import Target
from rookery.mesh.proxy.race import Begin, CallOff, Order, Race
from rookery.runtime.proxy.answering import ask
from rookery.runtime.proxy.byte_stream import OpenTunnelled, TunnelledStream

Attempt = asyncio.Task[tuple[TunnelledStream, Answer]]


class ExitRace:
    """One connection's attempts; all but the winner's are gone when `run` returns."""

    def __init__(self, race: Race, target: Target, open_stream: OpenTunnelled) -> None:
        self._race = race
        self._target = target
        self._open = open_stream
        self._loop = asyncio.get_running_loop()
        self._attempts: dict[str, Attempt] = {}
        self._abandoned: set[Attempt] = set()

    async def run(self) -> tuple[str, TunnelledStream, Address | None]:
        """The exit, the stream behind its answer, and what it reached; LocalError without any."""
        try:
            self._obey(self._race.tick(self._loop.time()))
            while not self._race.is_over:
                await self._step()
            winner = self._race.winner
            if winner is None:
                raise self._race.fault.error(self._target)
            stream, answer = self._attempts.pop(winner).result()
            return winner, stream, answer.reached
        finally:
            await self._clear()

    async def _step(self) -> None:
        deadline = self._race.deadline
        assert deadline is not None
        done, _ = await asyncio.wait(
            self._attempts.values(),
            timeout=max(0.0, deadline - self._loop.time()),
            return_when=asyncio.FIRST_COMPLETED,
        )
        for exit_ in [exit_ for exit_, attempt in self._attempts.items() if attempt in done]:
            if exit_ in self._attempts and not self._race.is_over:
                self._obey(self._judged(exit_, self._attempts[exit_]))
        self._obey(self._race.tick(self._loop.time()))

    def _judged(self, exit_: str, attempt: Attempt) -> list[Order]:
        now = self._loop.time()
        try:
            _, answer = attempt.result()
        except (RookeryError, OSError):
            del self._attempts[exit_]
            return self._race.unreached(exit_, now)
        if answer.fault is None:
            return self._race.succeeded(exit_, answer.load, now)
        del self._attempts[exit_]
        return self._race.failed(exit_, answer.fault, answer.load, now)

    def _obey(self, orders: list[Order]) -> None:
        for order in orders:
            match order:
                case Begin(exit_):
                    work = ask(self._open, exit_, self._target.meta())
                    self._attempts[exit_] = self._loop.create_task(work)
                case CallOff(exit_):
                    self._abandoned.add(self._attempts.pop(exit_))

    async def _clear(self) -> None:
        leftover = [*self._abandoned, *self._attempts.values()]
        for attempt in leftover:
            attempt.cancel()
        for outcome in await asyncio.gather(*leftover, return_exceptions=True):
            if isinstance(outcome, tuple):
                outcome[0].abort(Fault.GONE.code)  # too late, or not even wanted any more
