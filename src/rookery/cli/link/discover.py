"""`rookery discover`: endpoints that announce themselves nearby, and announcing our own."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.link.keys import csid_list, load_identity
from rookery.cli.runner import run_service
from rookery.cli.terminal.exit_codes import BIND_ADVICE, OK, advice
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, remark
from rookery.identity.cipher_sets import DEFAULT_CSIDS
from rookery.identity.identity import Identity
from rookery.link.discovery.announcement import INTERVAL_S
from rookery.link.session.handshake import Stranger
from rookery.runtime.endpoint.create import create
from rookery.runtime.net.address import LOOPBACK
from rookery.wire.link.uri import LinkAddress

LISTEN_S = INTERVAL_S + 1  # each endpoint announces itself once in that time
ANNOUNCEMENTS_MAX = 4096


def discover(
    *,
    announce_s: Annotated[
        float, Parameter(name="--announce", help="Show ourselves as well, for SECONDS.")
    ] = 0.0,
    seconds: Annotated[float, Parameter(name="--seconds", help="How long to listen.")] = LISTEN_S,
    udp: Annotated[
        str,
        Parameter(
            name="--udp", help="Interface to listen on, IP:PORT; 0.0.0.0:0 for the network around."
        ),
    ] = LOOPBACK,
    identity: Annotated[
        Path | None, Parameter(name="--id", help="Folder with our keys, for --announce.")
    ] = None,
    output: Output = OUTPUT,
) -> int:
    return run_service(_discover(identity, udp, max(seconds, announce_s), announce_s, output))


async def _discover(
    folder: Path | None, udp: str, seconds: float, announce_s: float, output: Output
) -> int:
    keys = (
        Identity.generate(DEFAULT_CSIDS, os.urandom)
        if folder is None
        else await asyncio.to_thread(load_identity, folder)
    )
    with advice(BIND_ADVICE):
        endpoint = await create(keys, udp=udp, tcp=None)
    async with endpoint:
        announcements = Announcements()
        endpoint.on_discover = announcements.discovered
        if announce_s > 0:
            endpoint.discover(seconds=announce_s)
            remark(f"announcing {endpoint.hashname} for {announce_s:g} s")
        remark(f"listening for {seconds:g} s")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for stranger in announcements:
                    _print(stranger, output)
        if not announcements.count:
            remark("no endpoint announced itself; try --udp 0.0.0.0:0 to hear the network around")
    return OK


class Announcements:
    """Each announced endpoint once, in the order of arrival."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._new: asyncio.Queue[Stranger] = asyncio.Queue()

    @property
    def count(self) -> int:
        return len(self._seen)

    def discovered(self, stranger: Stranger) -> None:
        if stranger.hashname not in self._seen and len(self._seen) < ANNOUNCEMENTS_MAX:
            self._seen.add(stranger.hashname)
            self._new.put_nowait(stranger)

    async def __aiter__(self) -> AsyncIterator[Stranger]:
        while True:
            yield await self._new.get()


def _print(stranger: Stranger, output: Output) -> None:
    address = LinkAddress(stranger.hashname, dict(stranger.keys), stranger.paths)
    if output.json:
        print_json({**address.json(), "uri": address.uri()})
    else:
        paths = " ".join(map(str, stranger.paths))
        print(f"{stranger.hashname}  {csid_list(stranger.keys)}  {paths}", flush=True)
