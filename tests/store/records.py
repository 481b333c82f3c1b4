"""What stores hold in tests."""

import asyncio
from collections.abc import Awaitable, Callable

from rookery.fleet.entry import FleetEntry, FleetKind
from rookery.fleet.rendezvous.wish import Grant, Wish, WishStep, WishStepName


def sender(number: int) -> bytes:
    return b"\x02" + number.to_bytes(5, "big")


def entry(number: int, *, kind: FleetKind = "router", last_seen: float = 1000.0) -> FleetEntry:
    """Every field has a value of its own, and all 64 bits are used."""
    return FleetEntry(
        sender=sender(number),
        kind=kind,
        hashname=f"{number:052d}",
        key=bytes([number % 256]) * 64,
        digest=b"d" * 32,
        generation=3,
        boot=(1 << 64) - 1 - number,
        sequence=number,
        window=(1 << 64) - 1,
        first_seen=5.5,
        last_seen=last_seen,
        address="198.51.100.7:4711",
        content=b"\x81\xa1t\x01",
        strikes=2,
        version=0,
        previous=1 << 63,
        struck_at=7.25,
    )


def wish(number: int, mac: bytes, client: str = "alice") -> Wish:
    return Wish(id=(1 << 64) - number, mac=mac, client=client, made_at=12.5, hub="h" * 52)


def step(of: Wish, name: WishStepName, text: str = "") -> WishStep:
    grant = None
    if name == "done":
        grant = Grant("s1", "t", "h" * 52, "192.0.2.1:1", "wss://x", b"k", b"d", 30, "02:…")
    return WishStep(wish=of.id, name=name, text=text, at=3.0, grant=grant)


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30.0) -> None:
    """Poll, and give up loudly."""
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 - there is nothing that tells us
            await asyncio.sleep(0.02)
