"""Serial lines by name: those that were named, and those that udev names by what they are."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rookery.errors import UsageError
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import SerialTarget, is_name

if TYPE_CHECKING:
    from rookery.runtime.proxy.serial_stream import SerialStream

BY_ID = "/dev/serial/by-id"
PLUGGED_MAX = 256

_NONE: Mapping[str, str] = MappingProxyType({})


class SerialDevices:
    """`named`: name to path. A line of `folder` is called as its entry there."""

    def __init__(self, named: Mapping[str, str] = _NONE, folder: str = BY_ID) -> None:
        for name in named:
            if not is_name(name):
                raise UsageError(f"{name!r} cannot be the name of a serial line")
        self._named = dict(named)
        self._folder = Path(folder)

    def plugged(self) -> tuple[str, ...]:
        """The names of the lines that are here now."""
        named = {name for name, path in self._named.items() if os.path.exists(path)}
        try:
            found = {entry for entry in os.listdir(self._folder) if is_name(entry)}
        except OSError:
            found = set()
        return tuple(sorted(named | found)[:PLUGGED_MAX])

    def open(self, line: SerialTarget) -> "SerialStream":
        """LocalError with a fault when it is not here, held by another, or will not open."""
        assert is_name(line.name)
        path = self._named.get(line.name, str(self._folder / line.name))
        return open_path(path, line)


def open_path(path: str, line: SerialTarget) -> "SerialStream":
    """The same for whoever knows where it is."""
    from rookery.runtime.proxy.serial_stream import SerialStream  # few nodes have lines

    try:
        return SerialStream.open(path, line)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ProxyFault.GONE.error(line) from error
    except BlockingIOError as error:
        raise ProxyFault.IN_USE.error(line) from error
    except OSError as error:
        fault = ProxyFault.IN_USE if error.errno == errno.EBUSY else ProxyFault.UNREACHABLE
        raise fault.error(line) from error
