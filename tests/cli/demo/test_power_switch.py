"""What has power runs, and is opened and closed by one task."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rookery.cli.demo.power_switch import PowerSwitch


class Lamp:
    def __init__(self) -> None:
        self.log: list[str] = []
        self.tasks: set[object] = set()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        self.tasks.add(asyncio.current_task())
        self.log.append("on")
        try:
            yield
        finally:
            self.tasks.add(asyncio.current_task())
            self.log.append("off")


async def test_it_goes_off_and_on_as_it_is_switched_by_one_task() -> None:
    lamp, power = Lamp(), PowerSwitch()
    async with asyncio.TaskGroup() as tasks:
        feeding = tasks.create_task(power.feed(lamp.opened))
        await power.running()
        await power.switch_off()
        assert lamp.log == ["on", "off"]
        assert not power.is_on
        await power.switch_on()
        assert lamp.log == ["on", "off", "on"]
        feeding.cancel()
    assert lamp.log == ["on", "off"] * 2
    assert len(lamp.tasks) == 1


async def test_at_the_end_it_goes_out_and_stays_so() -> None:
    lamp, power = Lamp(), PowerSwitch()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(power.feed(lamp.opened))
        await power.running()
        power.end()
    assert lamp.log == ["on", "off"]


async def test_what_is_off_at_the_end_is_not_lit_again() -> None:
    lamp, power = Lamp(), PowerSwitch()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(power.feed(lamp.opened))
        await power.running()
        await power.switch_off()
        power.end()
    assert lamp.log == ["on", "off"]
