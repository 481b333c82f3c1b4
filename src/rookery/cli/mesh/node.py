"""`rookery node`: a member of a realm, until stopped. The first line of output is its JSON link."""

import time
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli.link.keys import load_identity
from rookery.cli.link.target import parse_target
from rookery.cli.mesh.node_options import (
    ADVICE_OPTIONS,
    EXIT_OPTIONS,
    LINK_OPTIONS,
    MONITORING_OPTIONS,
    SERVICE_OPTIONS,
    AdviceOptions,
    NodeExitOptions,
    NodeLinkOptions,
    NodeMonitoringOptions,
    NodeServiceOptions,
)
from rookery.cli.runner import run_service, until_stopped
from rookery.cli.terminal.exit_codes import BIND_ADVICE, OK, advice
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_link, remark
from rookery.errors import DecodeError, UsageError
from rookery.identity.hashname import is_hashname, named_by
from rookery.identity.identity import Identity
from rookery.link.link import ROOKERY_CSID
from rookery.mesh.membership.membership import Member
from rookery.runtime.control.server import FILE_NAME, ControlServer
from rookery.runtime.control.streams import StreamOpener
from rookery.runtime.net.address import parse_address
from rookery.runtime.node.listeners import NodeListeners
from rookery.runtime.node.node import mesh_node
from rookery.runtime.node.view import NodeView
from rookery.runtime.outbox.queue_view import QueueView
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.path import NetPath, net_path, parse_path

if TYPE_CHECKING:
    from rookery.cli.mesh.node_offers import NodeOffers

COST_MS_MAX = 60_000.0


def node(
    *,
    identity: Annotated[Path, Parameter(name="--id", help="Folder with the node's keys.")],
    realm: Annotated[
        Path, Parameter(name="--realm", help="Folder of the realm it is a member of.")
    ],
    link_options: NodeLinkOptions = LINK_OPTIONS,
    exit_options: NodeExitOptions = EXIT_OPTIONS,
    service_options: NodeServiceOptions = SERVICE_OPTIONS,
    advice_options: AdviceOptions = ADVICE_OPTIONS,
    monitoring_options: NodeMonitoringOptions = MONITORING_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    keys, store, offsets_us = _load(identity, realm, link_options.costs)
    offers, advised = _offers(exit_options, service_options), advice_options.settings(realm)

    async def work() -> int:
        opening = mesh_node(
            keys,
            store,
            listen=link_options.listen,
            unix=link_options.unix,
            peers=[parse_target(text) for text in link_options.peers],
            advertise=_advertised(link_options.advertise),
            offsets_us=offsets_us,
            rules=None if offers is None else offers.rules,
            devices=None if offers is None else offers.devices,
            folders=None if offers is None else offers.folders,
            is_benched=service_options.bench,
            outbox_path=service_options.outbox,
        )
        async with AsyncExitStack() as stack:
            with advice(BIND_ADVICE):
                running = await stack.enter_async_context(opening)
            view = NodeView(running)
            socket, listeners = (
                monitoring_options.control or identity / FILE_NAME,
                NodeListeners(running),
            )
            streams = StreamOpener(running.open, running.path_figures)
            queues = QueueView(lambda: running.outbox, view.name_of)
            control = await ControlServer.bind(view, socket, listeners, streams, queues)
            stack.push_async_callback(control.close)
            if monitoring_options.metrics is not None:
                await _serve_metrics(stack, view, queues, monitoring_options.metrics)
            if monitoring_options.observe is not None:
                from rookery.cli.observers import observe_node  # few nodes do

                await stack.enter_async_context(
                    observe_node(running, view, monitoring_options.observe)
                )
            if advised is not None:
                from rookery.runtime.node.advice import follow_advice

                await stack.enter_async_context(follow_advice(running, advised))
            print_link(running.endpoint.address, is_versioned=output.json)
            await until_stopped()
        return OK

    return run_service(work())


def _load(
    folder: Path, realm: Path, costs: Iterable[str]
) -> tuple[Identity, RealmStore, Mapping[str, int]]:
    identity, store = load_identity(folder), RealmStore(realm)
    group = store.membership(time.time())
    if group.own.hashname != identity.hashname:
        raise UsageError(
            f"{realm} makes {group.own.hashname[:8]} a member, but the keys in {folder} are "
            f"{identity.hashname[:8]}'s; give the folders of one and the same node"
        )
    assert ROOKERY_CSID in identity.keys  # the certificate names that key
    return identity, store, parse_costs(costs, group.members.values())


def _offers(
    exit_options: NodeExitOptions, service_options: NodeServiceOptions
) -> "NodeOffers | None":
    if not (exit_options.rules or exit_options.devices or service_options.folders):
        return None
    from rookery.cli.mesh.node_offers import (
        parse_offers,  # takes memory, which relays can do without
    )

    return parse_offers(exit_options.rules, exit_options.devices, service_options.folders)


def parse_costs(texts: Iterable[str], members: Iterable[Member]) -> dict[str, int]:
    """`bob=20` as microseconds by hashname."""
    known = list(members)
    return dict(_parse_cost(text, known) for text in texts)


def _parse_cost(text: str, members: Iterable[Member]) -> tuple[str, int]:
    name, _, number = text.rpartition("=")
    try:
        cost_ms = float(number)
    except ValueError:
        cost_ms = float("nan")
    if not name or not abs(cost_ms) <= COST_MS_MAX:
        raise UsageError(f"{text!r} is no cost; write it as in --cost bob=20")
    if is_hashname(name):
        return name, round(cost_ms * 1000)
    found = named_by(name, members, lambda member: (member.name, member.hashname))
    if len(found) != 1:
        raise UsageError(f"{name!r} in --cost is no single member; give its whole hashname")
    return found[0].hashname, round(cost_ms * 1000)


def _advertised(texts: tuple[str, ...]) -> list[NetPath] | None:
    if "none" not in texts:
        return [_path(text) for text in texts]
    if len(texts) > 1:
        raise UsageError("either --advertise none, or addresses")
    return None


def _path(text: str) -> NetPath:
    try:
        path = parse_path(net_path("tcp", *parse_address(text)).json())
    except DecodeError as error:
        raise UsageError(f"{text!r} leads nowhere: give --advertise IP:PORT ({error})") from error
    assert isinstance(path, NetPath)
    return path


async def _serve_metrics(
    stack: AsyncExitStack, view: NodeView, queues: QueueView, address: str
) -> None:
    from rookery.runtime.node.metrics import Metrics  # some megabytes that few nodes need

    host, port = parse_address(f"127.0.0.1:{address}" if address.isdecimal() else address)
    with advice(BIND_ADVICE):
        listener = await Metrics(view, queues).listen(host, port)
    stack.push_async_callback(listener.close)
    shown = f"[{host}]" if ":" in host else host
    remark(f"metrics at http://{shown}:{listener.port}/metrics")
