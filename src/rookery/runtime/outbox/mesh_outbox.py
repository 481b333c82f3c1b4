"""An outbox between members of a realm: its sessions are streams of tunnels.

service `outbox`            a session; the lower hashname opens it
… with {"knock": true}      no session, but a wish for one, from the higher hashname
"""

from pathlib import Path

from rookery.runtime.outbox.outbox import Outbox
from rookery.runtime.tunnel_stream import TunnelStream
from rookery.runtime.tunnels import Tunnels

SERVICE = "outbox"


def mesh_outbox(hashname: str, tunnels: Tunnels, path: Path | None) -> Outbox:
    """`path` is where requests are kept; None: nowhere."""

    async def dial(host: str) -> TunnelStream:
        return await tunnels.open(host, SERVICE)

    async def knock(host: str) -> None:
        stream = await tunnels.open(host, SERVICE, {"knock": True})
        await stream.finish()
        await stream.read(1)  # until they have heard it

    async def serve(stream: TunnelStream) -> None:
        if stream.meta.get("knock") is True:
            outbox.knocked(stream.peer)
        else:
            await outbox.serve(stream, stream.peer)

    ledger = None
    if path is not None:
        from rookery.runtime.outbox.ledger import SqliteLedger

        ledger = SqliteLedger(path)
    outbox = Outbox(hashname, dial=dial, knock=knock, ledger=ledger)
    tunnels.serve(SERVICE, serve)
    return outbox
