"""A node that sends datagrams of each class when it is told to, and tells of those that arrive.

stdin   {"class":"drop","count":5,"size":100,"deadline_s":null}
stdout  its link, then  {"sent":[true,…]}  {"refused":"too large …"}  {"arrived":["drop",100]}
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from rookery.errors import UsageError
from rookery.runtime.control.server import ControlServer
from rookery.runtime.endpoint import keystore
from rookery.runtime.loop import run
from rookery.runtime.node.node import MeshNode, mesh_node
from rookery.runtime.node.view import NodeView
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.forward import DatagramClass


class Job(msgspec.Struct):
    """So many datagrams, all alike."""

    kind: str = msgspec.field(name="class")
    count: int
    size: int
    deadline_s: float | None = None


def main() -> None:
    keys, realm, listen, other, *peers = sys.argv[1:]
    links = [LinkAddress.parse(Path(peer).read_text()) for peer in peers]
    run(serve(Path(keys), Path(realm), listen, other, links))


async def serve(keys: Path, realm: Path, listen: str, other: str, peers: list[LinkAddress]) -> None:
    opened = mesh_node(keystore.load(keys), RealmStore(realm), listen=listen, peers=peers)
    async with opened as node:
        control = await ControlServer.bind(NodeView(node), keys / "control.sock")
        node.on_datagram = arrived
        say(node.endpoint.address.json())
        while line := await asyncio.to_thread(sys.stdin.readline):
            send(node, other, msgspec.json.decode(line, type=Job))
        await control.close()


def send(node: MeshNode, other: str, job: Job) -> None:
    payload = job.kind.encode().ljust(job.size)
    datagram_class = DatagramClass[job.kind.upper()]
    try:
        sent = [
            node.send_datagram(other, payload, datagram_class, job.deadline_s)
            for _ in range(job.count)
        ]
    except UsageError as error:
        say({"refused": str(error)})
    else:
        say({"sent": sent})


def arrived(_: str, payload: bytes) -> None:
    say({"arrived": [payload.split(maxsplit=1)[0].decode(), len(payload)]})


def say(what: JsonObject) -> None:
    print(msgspec.json.encode(what).decode(), flush=True)


if __name__ == "__main__":
    main()
