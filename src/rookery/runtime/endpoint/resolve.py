"""From what a user calls a link to what the endpoint can dial."""

import asyncio
import socket

from rookery.errors import DecodeError, UnreachableError, UsageError
from rookery.identity.hashname import hashname
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import Path
from rookery.wire.link.uri import LinkAddress, host_paths

ADDRESSES_MAX = 8  # of one named host


def parse_link(to: str | JsonObject | LinkAddress) -> LinkAddress:
    if isinstance(to, LinkAddress):
        return to
    try:
        return LinkAddress.parse(to) if isinstance(to, str) else LinkAddress.of_json(to)
    except DecodeError as error:
        raise UsageError(str(error)) from error


def checked_hashname(address: LinkAddress) -> str:
    """The hashname an address leads to; UsageError when it and the keys disagree."""
    if not address.keys:
        if address.hashname is None:
            raise UsageError("a link needs a hashname or keys")
        return address.hashname
    made = hashname(address.keys)
    if address.hashname not in (None, made):
        raise UsageError("the keys of the link make another hashname than it says")
    return made


async def resolved_paths(host: str, port: int) -> list[Path]:
    """Paths to every address of a named host; UnreachableError when it has none."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise UnreachableError(f"no address of {host} is known") from error
    ips = dict.fromkeys(str(entry[4][0]) for entry in found)
    return [path for ip in list(ips)[:ADDRESSES_MAX] for path in host_paths(ip, port)]
