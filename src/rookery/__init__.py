"""Rookery: encrypted links between gateways, and what runs over them.

    async with rookery.create() as endpoint:
        link = await endpoint.link(uri).up()
        stream = link.stream()

Names are loaded when first used, so that `import rookery` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rookery.identity.identity import Identity
    from rookery.link.channels.sock_rules import Rules
    from rookery.link.link import LinkState
    from rookery.link.session.handshake import Stranger
    from rookery.runtime.endpoint.channel import AsyncChannel
    from rookery.runtime.endpoint.create import create
    from rookery.runtime.endpoint.endpoint import AsyncEndpoint
    from rookery.runtime.endpoint.link import AsyncLink
    from rookery.runtime.loop import run
    from rookery.wire.link.uri import LinkAddress

__all__ = [
    "AsyncChannel",
    "AsyncEndpoint",
    "AsyncLink",
    "Identity",
    "LinkAddress",
    "LinkState",
    "Rules",
    "Stranger",
    "create",
    "run",
]

_HOME = {
    "AsyncChannel": "runtime.endpoint.channel",
    "AsyncEndpoint": "runtime.endpoint.endpoint",
    "AsyncLink": "runtime.endpoint.link",
    "Identity": "identity.identity",
    "LinkAddress": "wire.link.uri",
    "LinkState": "link.link",
    "Rules": "link.channels.sock_rules",
    "Stranger": "link.session.handshake",
    "create": "runtime.endpoint.create",
    "run": "runtime.loop",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'rookery' has no attribute {name!r}")
    return getattr(import_module(f"rookery.{home}"), name)
