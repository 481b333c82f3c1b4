"""The caller's own endpoint, for as long as one client verb runs.

It is made to fit LINK: keys of a cipher set that the peer has, and a UDP socket on an interface
that leads there. It listens on TCP only when told to.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

from rookery.cli.link.keys import csid_list, load_identity
from rookery.cli.link.options import LinkOptions
from rookery.cli.link.target import parse_target
from rookery.cli.terminal.exit_codes import BIND_ADVICE, advice
from rookery.errors import UnreachableError, UsageError
from rookery.identity.cipher_sets import DEFAULT_CSIDS, KNOWN_CSIDS
from rookery.identity.identity import Identity
from rookery.link.session.handshake import Stranger
from rookery.runtime.endpoint.create import create
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.runtime.endpoint.link import AsyncLink
from rookery.runtime.net.address import LOOPBACK, parse_address
from rookery.wire.link.path import NetPath
from rookery.wire.link.uri import LinkAddress

ANY_IPV4 = "0.0.0.0"  # noqa: S104  only for dialling out to an address that is not loopback
ANY_IPV6 = "::"
LOOPBACK_IPV6 = "::1"


@asynccontextmanager
async def dialled_link(target: LinkAddress, link_options: LinkOptions) -> AsyncIterator[AsyncLink]:
    """A link to `target` that is up, from an endpoint that ends with it."""
    routers = [parse_target(text) for text in link_options.via]
    async with client_endpoint([target, *routers], link_options) as endpoint:
        yield await link_up(endpoint, target, link_options, routers)


@asynccontextmanager
async def client_endpoint(
    targets: Sequence[LinkAddress], link_options: LinkOptions
) -> AsyncIterator[AsyncEndpoint]:
    """An endpoint that can reach all of `targets`, the first of which the verb is about."""
    identity = await asyncio.to_thread(_identity, link_options.identity, targets)
    first, *more = [link_options.udp] if link_options.udp is not None else udp_addresses(targets)
    with advice(BIND_ADVICE):
        endpoint = await create(identity, udp=first, tcp=link_options.tcp)
    async with endpoint:
        for address in more:
            with suppress(UsageError):  # a machine without IPv6 still has the other paths
                endpoint.add_gate(await UdpGate.bind(endpoint, *parse_address(address)))
        yield endpoint


async def link_up(
    endpoint: AsyncEndpoint,
    target: LinkAddress,
    link_options: LinkOptions,
    routers: Iterable[LinkAddress] = (),
) -> AsyncLink:
    """The link to `target` once it is up; routers introduce a bare hashname."""
    known = list(routers)
    for router in known:
        endpoint.link(router).router()
    if not (target.keys or target.paths or target.host or known):
        with advice("give a LINK with keys and paths, or a router with --via LINK"):
            return await _link_when_announced(endpoint, target, link_options.timeout_s)
    with advice("ask its owner for the link once more"):
        link = endpoint.link(target)
    with advice(f"is it running, and does it accept us, {endpoint.hashname}?"):
        return await link.up(link_options.timeout_s)


async def _link_when_announced(
    endpoint: AsyncEndpoint, target: LinkAddress, timeout_s: float
) -> AsyncLink:
    """Link with a bare hashname once its endpoint announces itself nearby."""
    announced: asyncio.Future[Stranger] = asyncio.get_running_loop().create_future()

    def discovered(stranger: Stranger) -> None:
        if stranger.hashname == target.hashname and not announced.done():
            announced.set_result(stranger)

    endpoint.on_discover = discovered
    try:
        async with asyncio.timeout(timeout_s):
            stranger = await announced
    except TimeoutError as error:
        name = (target.hashname or "")[:8]
        raise UnreachableError(f"{name} did not announce itself here") from error
    return await endpoint.link(stranger).up(timeout_s)


def _identity(folder: Path | None, targets: Sequence[LinkAddress]) -> Identity:
    keys = targets[0].keys if targets else {}
    if folder is None:
        return Identity.generate(throwaway_csids(keys), os.urandom)
    identity = load_identity(folder)
    if keys and not keys.keys() & identity.keys.keys():
        raise UsageError(
            f"no cipher set in common: the link has {csid_list(keys)}, {folder} has "
            f"{csid_list(identity.keys)}; leave --id out, or make keys with: "
            f"rookery id new DIR --cs {csid_list(keys)}"
        )
    return identity


def throwaway_csids(keys: Mapping[int, bytes]) -> tuple[int, ...]:
    """The usual cipher sets, or those of a peer that has none of them."""
    theirs = tuple(csid for csid in KNOWN_CSIDS if csid in keys)
    if not theirs or set(theirs) & set(DEFAULT_CSIDS):
        return DEFAULT_CSIDS
    return theirs


def udp_addresses(targets: Sequence[LinkAddress]) -> list[str]:
    """Where to bind: loopback if all targets are there, else all interfaces."""
    ips = [
        ip_address(path.ip)
        for target in targets
        for path in target.paths
        if isinstance(path, NetPath)
    ]
    is_named = any(target.host for target in targets)  # may turn out to be anywhere
    is_near = not is_named and all(ip.is_loopback for ip in ips)
    ipv4 = LOOPBACK if is_near else f"{ANY_IPV4}:0"
    ipv6 = f"[{LOOPBACK_IPV6 if is_near else ANY_IPV6}]:0"
    return [ipv4, ipv6] if is_named or any(ip.version == 6 for ip in ips) else [ipv4]
