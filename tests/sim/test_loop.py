"""The virtual loop: time jumps, order stays."""

import asyncio
import time

import pytest

from rookery.sim.loop import VirtualLoop, run_virtual


def test_an_hour_passes_at_once() -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    began = time.perf_counter()
    assert run_virtual(main()) == pytest.approx(3600)
    assert time.perf_counter() - began < 5


def test_timers_fire_in_order_of_their_time() -> None:
    async def main() -> list[str]:
        fired: list[str] = []
        loop = asyncio.get_running_loop()
        loop.call_later(2, fired.append, "later")
        loop.call_later(1, fired.append, "sooner")
        await asyncio.sleep(3)
        return fired

    assert run_virtual(main()) == ["sooner", "later"]


def test_a_thread_can_still_answer() -> None:
    async def main() -> int:
        return await asyncio.to_thread(lambda: 42)

    assert run_virtual(main()) == 42


def test_waiting_for_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.sim.loop.STUCK_S", 0.01)
    loop = VirtualLoop()
    try:
        with pytest.raises(RuntimeError, match="never comes"):
            loop.run_until_complete(loop.create_future())
    finally:
        loop.close()
