"""An outbox between members of a realm: its sessions are streams of tunnels.

service `outbox`            a session; the lower hashname opens it
… with {"knock": true}      no session, but a wish for one, from the higher hashname
"""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rookery.errors import UnreachableError
from rookery.mesh.services import OUTBOX
from rookery.runtime.tunnels.stream import TunnelStream
from rookery.runtime.tunnels.tunnels import AsyncTunnels

if TYPE_CHECKING:
    from rookery.outbox.outbox import OnEnded
    from rookery.runtime.outbox.ledger import SqliteLedger
    from rookery.runtime.outbox.outbox import AsyncOutbox


class MeshOutbox:
    """Holds a node's outbox to all members.

    Without a file it is made, and its code loaded, when somebody first has a request: it takes
    memory, and many nodes only carry packets.
    """

    def __init__(
        self,
        hashname: str,
        tunnels: AsyncTunnels,
        members: Callable[[], Iterable[str]],
        path: Path | None,
    ) -> None:
        """`members` are hashnames; `path` is where requests are kept, None: nowhere."""
        self._loop = asyncio.get_running_loop()
        self._hashname = hashname
        self._tunnels = tunnels
        self._members = members
        self._outbox: AsyncOutbox | None = None
        self._on_ended: OnEnded | None = None
        self._is_closed = False
        if path is not None:
            from rookery.runtime.outbox.ledger import SqliteLedger

            self._make(SqliteLedger(path))
        tunnels.serve(OUTBOX, self._serve)

    def get(self) -> "AsyncOutbox":
        """From any thread, as its requests."""
        if self._outbox is not None:
            return self._outbox
        if self._is_closed:
            raise UnreachableError("the outbox is closed")
        if _running_loop() is not self._loop:
            return asyncio.run_coroutine_threadsafe(self._get(), self._loop).result()
        outbox = self._make()
        self.follow_members()
        return outbox

    def follow_members(self) -> None:
        """To be called when the members may have changed."""
        if self._outbox is not None:
            self._outbox.set_peers(self._members())

    def observe(self, on_ended: "OnEnded | None") -> None:
        """Call this for every request that ends from now on; None: no longer."""
        self._on_ended = on_ended
        if self._outbox is not None:
            self._outbox.core.on_ended = on_ended

    async def close(self) -> None:
        self._is_closed = True
        if self._outbox is not None:
            await self._outbox.close()

    async def _get(self) -> "AsyncOutbox":
        return self.get()

    def _make(self, ledger: "SqliteLedger | None" = None) -> "AsyncOutbox":
        from rookery.runtime.outbox.outbox import AsyncOutbox

        self._outbox = AsyncOutbox(
            self._hashname, dial=self._dial, knock=self._knock, ledger=ledger
        )
        self._outbox.core.on_ended = self._on_ended
        return self._outbox

    # --- over tunnels ---

    async def _dial(self, host: str) -> TunnelStream:
        return await self._tunnels.open(host, OUTBOX)

    async def _knock(self, host: str) -> None:
        stream = await self._tunnels.open(host, OUTBOX, {"knock": True})
        await stream.finish()
        await stream.read(1)  # until it has been received

    async def _serve(self, stream: TunnelStream) -> None:
        outbox = self.get()
        if stream.meta.get("knock") is True:
            outbox.knocked(stream.peer)
        else:
            await outbox.serve(stream, stream.peer)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:  # so it says that there is none in this thread
        return None
