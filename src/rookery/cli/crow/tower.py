"""`rookery crow tower`: print what arrives, one JSON object a line.

{"event":"listening", …}   the first line: addresses that lead here
{"event":"packet", …}      a packet for no node
{"event":"message", …}     a message for one of our nodes
{"event":"closed", …}      the last line: what passed the gates, and what was dropped and why
"""

from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.crow import message_data
from rookery.cli.crow.open_tower import OpenTower, listen
from rookery.cli.crow.options import ACKQUANT_MS, LISTEN_OPTIONS, CrowListenOptions, Forward
from rookery.cli.runner import run_service, until_first
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json
from rookery.crow.packet_events import NodeMessage, PacketArrived
from rookery.crow.pubsub.orders import chunk_size
from rookery.errors import CongestionError
from rookery.runtime.crow.node import CrowNode
from rookery.runtime.crow.tower import CrowTower
from rookery.wire.crow import address


def tower(
    *,
    options: CrowListenOptions = LISTEN_OPTIONS,
    nodes: Annotated[
        tuple[int, ...],
        Parameter(
            name="--node",
            negative="",
            show_default=False,
            help="Also take messages for this node; repeat for more.",
        ),
    ] = (),
    forward: Forward = False,
    echo: Annotated[
        bool,
        Parameter(
            name="--echo",
            negative="",
            show_default=False,
            help="Send everything back to where it came from.",
        ),
    ] = False,
    output: Output = OUTPUT,
) -> int:
    async def work() -> int:
        async with CrowTower(forwards=forward) as tower:
            site = await listen(tower, options)
            try:
                await _serve(site, nodes, echo=echo)
            finally:
                print_json({"event": "closed", **site.counts()})
        raise AssertionError("ends by a signal")

    return run_service(work())


async def _serve(site: OpenTower, nodes: tuple[int, ...], *, echo: bool) -> None:
    opened = [site.tower.node(node) for node in nodes]
    print_json(listening_line(site))
    messages = [_messages(site, node, echo=echo) for node in opened]
    await until_first([_packets(site, echo=echo), *messages])


def listening_line(site: OpenTower) -> dict[str, object]:
    """The event with the addresses that lead here."""
    addresses = {name: address.format(hop) for name, hop in site.addresses.items()}
    return {"event": "listening", **addresses}


async def _packets(site: OpenTower, *, echo: bool) -> None:
    async for arrived in site.tower:
        _print_packet(arrived)
        if echo:
            _send_back(site, arrived)


def _print_packet(arrived: PacketArrived) -> None:
    packet = arrived.packet
    print_json(
        {
            "event": "packet",
            "from": address.format(arrived.return_address),
            "type": packet.type,
            "qos": packet.qos,
            **message_data.fields(packet.data),
        }
    )


def _send_back(site: OpenTower, arrived: PacketArrived) -> None:
    packet = arrived.packet
    with suppress(CongestionError):  # a peer that sends faster than it reads gets less back
        site.tower.post(
            arrived.return_address,
            packet.data,
            kind=packet.type,
            qos=packet.qos,
            ackquant_ms=packet.ackquant_ms,
        )


async def _messages(site: OpenTower, node: CrowNode, *, echo: bool) -> None:
    async for message in node:
        _print_message(message)
        if echo:
            _answer(site, message)


def _print_message(message: NodeMessage) -> None:
    print_json(
        {
            "event": "message",
            "from": address.format(message.return_address),
            "from_node": message.sid,
            "node": message.rid,
            "qos": message.qos,
            **message_data.fields(message.data),
        }
    )


def _answer(site: OpenTower, question: NodeMessage) -> None:
    tower = site.tower
    with suppress(CongestionError):
        tower.nodes.send(
            question.return_address,
            question.rid,
            question.sid,
            question.data,
            tower.now(),
            qos=question.qos,
            ackquant_ms=ACKQUANT_MS,
            chunk_size=chunk_size(question.data),
        )
    tower.pump()
