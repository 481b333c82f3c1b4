"""`rookery crow send`: one packet along its route, and whether it was delivered."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.crow.message_data import message
from rookery.cli.crow.open_tower import OpenTower, tower_for_route
from rookery.cli.crow.options import (
    QOS_OPTIONS,
    SEND_OPTIONS,
    CrowQosOptions,
    CrowSendOptions,
    Data,
)
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK, UNREACHABLE, complain
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json
from rookery.crow.pubsub.orders import chunk_size
from rookery.errors import UsageError
from rookery.runtime.crow.outcome import DeliveryStatus, MessageOutcome
from rookery.wire.crow import address as crow_address
from rookery.wire.crow.node import MESSAGE_SIZE_MAX
from rookery.wire.crow.packet import HEADER_SIZE, NODE

PACKET_SIZE_MAX = 0xFFFF - 8 - 20  # of UDP, which is the least that a gate takes

_REFUSAL_S = 0.2  # in which a tower says that it has no such node, after its acknowledgement


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CrowAddressOptions:
    """Type of the packet, and its nodes."""

    kind: Annotated[
        int | None, Parameter(name="--type", help="Type of the packet, 0 to 7 without 3.")
    ] = None
    node: Annotated[
        int | None, Parameter(name="--node", help="Node it is for; makes it a packet of type 3.")
    ] = None
    from_node: Annotated[
        int | None,
        Parameter(name="--from-node", help="Node it is from, else a free one; needs --node."),
    ] = None


ADDRESS_OPTIONS = CrowAddressOptions()


def send(
    address: Annotated[str, Parameter(name="ADDRESS", help="The route, as in .12.127.0.0.1:7001.")],
    data: Data,
    /,
    *,
    address_options: CrowAddressOptions = ADDRESS_OPTIONS,
    qos_options: CrowQosOptions = QOS_OPTIONS,
    send_options: CrowSendOptions = SEND_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if address_options.node is None and address_options.from_node is not None:
        raise UsageError("--from-node names the sender of a message for --node; give both")
    if address_options.kind is not None and (address_options.kind == NODE) == (
        address_options.node is None
    ):
        raise UsageError(f"type {NODE} is for nodes, and no other; give --node without --type")
    route = crow_address.parse(address)

    async def work() -> int:
        content = await message(data, _size_max(route, address_options))
        async with tower_for_route(route, send_options) as site:
            sending = _MessageSender(site, route, address_options, qos_options)
            return sending.report(await sending.send(content), output)

    return run_verb(work())


def _size_max(route: bytes, address_options: CrowAddressOptions) -> int:
    if address_options.node is not None:
        return MESSAGE_SIZE_MAX
    return PACKET_SIZE_MAX - HEADER_SIZE - len(route)


class _MessageSender:
    """Sends one message and waits for its outcome."""

    def __init__(
        self,
        site: OpenTower,
        route: bytes,
        address_options: CrowAddressOptions,
        qos_options: CrowQosOptions,
    ) -> None:
        self._site = site
        self._route = route
        self._addressing = address_options
        self._qos_options = qos_options
        self._took_s = 0.0

    async def send(self, content: bytes) -> MessageOutcome:
        began = time.monotonic()
        if (node := self._addressing.node) is not None:
            return await self._send_to(node, content)
        outcome = await self._site.tower.send(
            self._route,
            content,
            kind=self._addressing.kind or 0,
            qos=self._qos_options.qos,
            ackquant_ms=self._qos_options.ackquant_ms,
        )
        self._took_s = time.monotonic() - began
        return outcome

    async def _send_to(self, node: int, content: bytes) -> MessageOutcome:
        refused = asyncio.Event()
        began = time.monotonic()
        async with self._site.tower.node(self._addressing.from_node) as ours:
            ours.on_refused = lambda refusal: refused.set()
            outcome = await ours.send(
                self._route,
                node,
                content,
                qos=self._qos_options.qos,
                ackquant_ms=self._qos_options.ackquant_ms,
                chunk_size=chunk_size(content),
            )
            self._took_s = time.monotonic() - began
            if outcome.status is not DeliveryStatus.UNDELIVERED:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_REFUSAL_S):
                        await refused.wait()
                    return MessageOutcome(DeliveryStatus.UNDELIVERED, f"there is no node {node}")
        return outcome

    def report(self, outcome: MessageOutcome, output: Output) -> int:
        is_lost, address = (
            outcome.status is DeliveryStatus.UNDELIVERED,
            crow_address.format(self._route),
        )
        shown: dict[str, object] = {"status": str(outcome.status)}
        if is_lost:
            shown["reason"] = outcome.reason
        shown |= {"address": address, "qos": self._qos_options.qos}
        if outcome.is_delivered:
            shown["ms"] = round(self._took_s * 1000, 3)
        if output.json:
            print_json(shown)
        elif not is_lost:
            print_fields(shown.items())
        if not is_lost:
            return OK
        complain(
            f"not delivered to {address}: {outcome.reason}; "
            "is the tower running there, and does it answer from that very address?"
        )
        return UNREACHABLE
