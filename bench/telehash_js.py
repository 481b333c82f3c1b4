"""The peer: a stream of telehash-js with itself over UDP, beside ours, both with `3a`.

Needs node and the packages that the interop tests install; without them there is no row.
"""

import asyncio
import shutil
import time
from pathlib import Path

from bench.ends import Way
from bench.figure import Effort, Figure, middle
from bench.machine import ROOT
from bench.stream import client
from bench.turns import turns
from tests.interop.js_peer import JsPeer

TITLE = "Against telehash-js"

_WAY = Way(0x3A, "udp")
_SIZE = 200_000  # it has no window, and loses the end of much more
_MEGABYTE = 1e6


def measure(effort: Effort) -> list[Figure]:
    modules = installed()
    if modules is None:
        return []
    rates, limits = [], []
    with turns(_WAY, client, effort.seconds) as turn:
        for _ in range(effort.runs):
            rates.append(turn().rate)
            limits.append(asyncio.run(_transfer(modules)) / _MEGABYTE)
    return [
        Figure(
            what=f"stream {_WAY}",
            value=middle(rates),
            unit="MB/s",
            limit=middle(limits),
            against="telehash-js to telehash-js",
            remark="goal: 3 times as fast",
        )
    ]


def installed() -> Path | None:
    """Where the interop tests have put telehash-js, if they have."""
    if shutil.which("node") is None:
        return None
    return next(iter(sorted((ROOT / "build" / "interop").glob("*/node_modules"))), None)


async def _transfer(modules: Path) -> float:
    sender, receiver = await JsPeer.start(modules), await JsPeer.start(modules)
    try:
        for peer in (sender, receiver):
            await peer.create(["3a"], ["udp4"], "all", None)
        await receiver.call("streamServe", mode="count")
        await sender.call("link", to=receiver.link)
        began = time.perf_counter()
        sending = sender.call("streamSend", hashname=receiver.hashname, bytes=_SIZE)
        _, ended = await asyncio.gather(sending, receiver.event("streamEnded"))
        assert ended["bytes"] == _SIZE, ended
        return _SIZE / (time.perf_counter() - began)
    finally:
        await asyncio.gather(sender.stop(), receiver.stop())
