"""What a node offers to other members, from the options that say so."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from rookery.errors import UsageError
from rookery.mesh.files.folder import FolderRule, FolderRules
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.proxy.serial_devices import SerialDevices


class NodeOffers(NamedTuple):
    """As `mesh_node` takes them."""

    rules: ProxyRules
    devices: SerialDevices
    folders: FolderRules


def parse_offers(
    rules: Sequence[str], devices: Sequence[str], folders: Sequence[str]
) -> NodeOffers:
    """UsageError says which of them is wrong."""
    return NodeOffers(
        ProxyRules.parse(rules), SerialDevices(parse_devices(devices)), parse_folders(folders)
    )


def parse_devices(texts: Iterable[str]) -> dict[str, str]:
    """`meter=/dev/ttyUSB0` as paths by name."""
    devices = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise UsageError(f"{text!r} is no device; write it as in --device meter=/dev/ttyUSB0")
        if name in devices:
            raise UsageError(f"two devices are called {name!r}; give each a name of its own")
        devices[name] = path
    return devices


def parse_folders(texts: Sequence[str]) -> FolderRules:
    """`inbox=/srv/inbox:rw`, with its whole path, whatever becomes the current folder."""
    rules = [FolderRule.parse(text) for text in texts]
    for rule in rules:
        if not Path(rule.directory).is_dir():
            raise UsageError(f"--folder {rule}: {rule.directory} is no folder; make it first")
    return FolderRules(
        [msgspec.structs.replace(rule, directory=os.path.abspath(rule.directory)) for rule in rules]
    )
