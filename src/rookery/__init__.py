"""Rookery: encrypted links between gateways, and what runs over them.

    async with rookery.create() as mesh:
        link = await mesh.link(uri).up()
        stream = link.stream()

Names are loaded when first used, so that `import rookery` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rookery.identity.identity import Identity
    from rookery.link.channels.sock_rules import Rules
    from rookery.link.link import LinkState
    from rookery.link.stranger import Stranger
    from rookery.runtime.channel import Channel
    from rookery.runtime.create import create
    from rookery.runtime.link import Link
    from rookery.runtime.loop import run
    from rookery.runtime.mesh import Mesh
    from rookery.wire.uri import LinkAddress

__all__ = [
    "Channel",
    "Identity",
    "Link",
    "LinkAddress",
    "LinkState",
    "Mesh",
    "Rules",
    "Stranger",
    "create",
    "run",
]

_HOME = {
    "Channel": "runtime.channel",
    "Identity": "identity.identity",
    "Link": "runtime.link",
    "LinkAddress": "wire.uri",
    "LinkState": "link.link",
    "Mesh": "runtime.mesh",
    "Rules": "link.channels.sock_rules",
    "Stranger": "link.stranger",
    "create": "runtime.create",
    "run": "runtime.loop",
}


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'rookery' has no attribute {name!r}")
    return getattr(import_module(f"rookery.{home}"), name)
