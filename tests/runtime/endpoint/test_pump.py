"""The pump: what is sent leaves before anything else is done, and who is not due is left alone."""

import asyncio
import random
from collections.abc import Callable

from rookery.identity.identity import Identity
from rookery.link.endpoint import Endpoint
from rookery.link.events import Event
from rookery.runtime.endpoint.pump import ClockJumpDetector, Pump
from rookery.sim.loop import run_virtual


class Sleeper:
    """A resident with one deadline, and a list of what happened to it and when."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.has_more = False
        self.on_report: Callable[[], None] | None = None
        self.log: list[tuple[str, float]] = []

    def tick(self, now: float) -> bool:
        if self.deadline is None or now < self.deadline:
            return False
        self.log.append(("tick", now))
        self.deadline = None
        return True

    def handle(self, event: Event, now: float) -> None:
        raise AssertionError("nothing happens here")

    def report(self) -> None:
        if self.on_report is not None:
            self.on_report()

    def flush(self, now: float) -> None:
        self.log.append(("flush", now))


def pumped() -> tuple[Pump, Sleeper]:
    now = asyncio.get_running_loop().time
    source = random.Random(1)
    identity = Identity.generate((0x40,), source.randbytes)
    core = Endpoint(identity, random=source.randbytes, unix_s=0.0, now=now())
    sleeper = Sleeper()

    def sent() -> None:
        sleeper.log.append(("sent", now()))

    pump = Pump(core, lambda event: None, sent, now, ClockJumpDetector(now, now()))
    pump.upper_layer = sleeper
    return pump, sleeper


def test_a_deadline_that_was_put_off_wakes_nobody() -> None:
    """Most timers are: an acknowledgement that rides along, a probe that was not needed."""

    async def main() -> None:
        pump, sleeper = pumped()
        sleeper.deadline = 0.005
        pump.run()
        sleeper.log.clear()
        sleeper.deadline = 0.012  # as after any packet, and without another run
        await asyncio.sleep(0.01)
        assert sleeper.log == []
        await asyncio.sleep(0.01)
        assert [what for what, _ in sleeper.log] == ["tick", "flush", "sent"]
        assert abs(sleeper.log[0][1] - 0.012) < 1e-6
        pump.close()

    run_virtual(main())


def test_what_is_sent_leaves_in_the_same_turn() -> None:
    async def main() -> None:
        pump, sleeper = pumped()
        pump.run()
        assert sleeper.log == [("flush", 0.0), ("sent", 0.0)]
        sleeper.log.clear()
        pump.soon()
        pump.soon()
        await asyncio.sleep(0)
        assert sleeper.log == [("flush", 0.0), ("sent", 0.0)]
        pump.close()

    run_virtual(main())


def test_what_programs_do_about_news_leaves_with_the_rest() -> None:
    """A credit goes with the acknowledgement, instead of a packet and a turn of its own."""

    async def main() -> None:
        pump, sleeper = pumped()
        sleeper.on_report = pump.soon
        pump.run()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert sleeper.log == [("flush", 0.0), ("sent", 0.0)]
        sleeper.on_report = None
        pump.soon()
        await asyncio.sleep(0)
        assert len(sleeper.log) == 4
        pump.close()

    run_virtual(main())


def test_runs_in_close_succession_leave_deadlines_to_a_timer() -> None:
    """It comes within a millisecond, and what is due then is not late by more."""

    async def main() -> None:
        pump, sleeper = pumped()
        pump.run()
        await asyncio.sleep(0.0005)
        sleeper.deadline = 0.0007
        pump.run()
        sleeper.log.clear()
        await asyncio.sleep(0.002)
        assert [what for what, _ in sleeper.log] == ["tick", "flush", "sent"]
        assert sleeper.log[0][1] <= 0.0015 + 1e-6
        pump.close()

    run_virtual(main())


def test_what_one_flush_left_goes_with_the_next_turn() -> None:
    async def main() -> None:
        pump, sleeper = pumped()
        sleeper.has_more = True
        pump.run()
        sleeper.has_more = False
        sleeper.log.clear()
        await asyncio.sleep(0)
        assert sleeper.log == [("flush", 0.0), ("sent", 0.0)]
        pump.close()

    run_virtual(main())
