"""Wireless: the signal of the device's wireless interfaces, from /proc/net/wireless.

    Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE
     face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22
    wlan0: 0000   58.  -52.  -256        0      0      0      0     61        0

Everybody may read it. A point behind a number says that it is new. The kernel lists interfaces that
are clients of a network, not access points, and only those whose drivers have wireless extensions.
"""

from pathlib import Path

PATH = Path("/proc/net/wireless")

_HEADING_LINES = 2
_LEVEL = 3  # behind name, status and link
_DBM_MIN, _DBM_MAX = -150, -1  # others are of drivers that measure no dBm, or nothing


def signal_dbm(path: Path = PATH) -> float | None:
    """Of the interface that receives best; None: there is none, or it has no connection."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:  # no wireless interface ever, another system, or hidden from us
        return None
    levels = [_level(line) for line in lines[_HEADING_LINES:]]
    return max((level for level in levels if level is not None), default=None)


def _level(line: str) -> float | None:
    name, _, values = line.rpartition(":")
    columns = [name, *values.split()]
    try:
        level = float(columns[_LEVEL].rstrip("."))
    except (IndexError, ValueError):
        return None
    return level if _DBM_MIN <= level <= _DBM_MAX else None
