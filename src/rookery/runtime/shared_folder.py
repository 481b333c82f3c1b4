"""Shared folder: one that its owner gave to a group, by the bit set-group-ID.

Files of ours are their owner's alone. Where hub and lake run as different users, both need a spool,
and nothing else of each other: so only what is meant to be shared asks here, and only a folder with
that bit, which nothing sets by itself, makes a difference. Such a folder wants `chmod 3770`: with
its sticky bit, nobody in the group can remove what another one made.
"""

import os
import stat
from pathlib import Path

OWNER = 0o600
READ_BY_GROUP = 0o640
USED_BY_GROUP = 0o660


def is_shared(folder: Path) -> bool:
    """Whether its group is meant to use it; OSError where there is none."""
    return bool(folder.stat().st_mode & stat.S_ISGID)


def readable_mode(folder: Path) -> int:
    """Of a file that the folder's group may read, if it has one to share with."""
    return READ_BY_GROUP if is_shared(folder) else OWNER


def make(path: Path, flags: int) -> int:
    """Open such a file, made if need be; the mask of the process takes nothing away."""
    descriptor = os.open(path, flags | os.O_CREAT, OWNER)
    try:
        mode = readable_mode(path.parent)
        if mode != OWNER:
            os.fchmod(descriptor, mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
