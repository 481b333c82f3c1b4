"""The peer: a stream of telehash-js with itself over UDP, beside ours, both with `3a`.

The interop tests and this install it from npm, in the same place.
"""

import asyncio
import json
import time
from pathlib import Path

from bench.ends import LinkVariant
from bench.figure import Effort, Figure, Goal, Missing, Row, middle
from bench.stream import client
from bench.turns import turns
from tests.interop import js_packages
from tests.interop.js_peer import JsPeer

_VARIANT = LinkVariant(0x3A, "udp")
_SIZE = 200_000  # it has no window, and loses the end of much more
_MEGABYTE = 1e6


def measure(effort: Effort) -> list[Row]:
    what, goal = f"stream {_VARIANT}", Goal(ratio_min=3.0)
    try:
        modules = js_packages.installed()
    except (js_packages.NoNodeError, js_packages.InstallError) as error:
        return [Missing(what=what, against="telehash-js", why=str(error), goal=goal)]
    rates, limits = [], []
    with turns(_VARIANT, client, effort.seconds) as turn:
        for _ in range(effort.runs):
            rates.append(turn().rate)
            limits.append(asyncio.run(_transfer(modules)) / _MEGABYTE)
    return [
        Figure(
            what=what,
            value=middle(rates),
            unit="MB/s",
            limit=middle(limits),
            against=f"telehash-js {_version(modules)} to telehash-js",
            goal=goal,
        )
    ]


def _version(modules: Path) -> str:
    told = json.loads((modules / "telehash" / "package.json").read_text())
    return str(told["version"])


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
