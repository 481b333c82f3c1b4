"""Folders: what members may copy from and to. Nothing, unless the operator says so.

    NAME=DIR[:ro|:rw][ from HASHNAME]        ro, and for every member, unless it says otherwise

A folder may be named several times, for different members; it is one and the same DIR then.
"""

from collections.abc import Sequence
from typing import Self

import msgspec

from rookery.errors import UsageError
from rookery.identity.hashname import is_hashname
from rookery.mesh.files.fault import CopyError, FileFault
from rookery.mesh.files.path import is_folder

FOLDERS_MAX = 1024
EXAMPLE = "inbox=/srv/inbox:rw"


class FolderRule(msgspec.Struct, frozen=True):
    """One permission."""

    name: str
    directory: str
    is_writable: bool
    member: str | None  # None: every member

    @classmethod
    def parse(cls, text: str) -> Self:
        place, is_limited, member = text.rpartition(" from ")
        if not is_limited:
            place, member = text, ""
        name, _, directory = place.partition("=")
        directory, mode = _without_mode(directory)
        if not is_folder(name) or not directory:
            raise UsageError(f"{text!r} is no folder; write it as in --folder {EXAMPLE}")
        if is_limited and not is_hashname(member.strip()):
            raise UsageError(f"folder {text!r}: {member.strip()!r} is not a hashname")
        return cls(name, directory, mode == "rw", member.strip() or None)

    def __str__(self) -> str:
        mode = "rw" if self.is_writable else "ro"
        return f"{self.name}={self.directory}:{mode}" + (
            f" from {self.member}" if self.member else ""
        )


def _without_mode(directory: str) -> tuple[str, str]:
    before, colon, mode = directory.rpartition(":")
    return (before, mode) if colon and mode in ("ro", "rw") else (directory, "ro")


class FolderRules:
    """All folders of one node; without any, nothing is served."""

    def __init__(self, rules: Sequence[FolderRule] = ()) -> None:
        if len(rules) > FOLDERS_MAX:
            raise UsageError(f"more than {FOLDERS_MAX} folders")
        self._rules = tuple(rules)
        self.directories: dict[str, str] = {}
        for rule in rules:
            if self.directories.setdefault(rule.name, rule.directory) != rule.directory:
                raise UsageError(f"two folders are called {rule.name!r}; give each its own name")

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Self:
        return cls([FolderRule.parse(text) for text in texts])

    def directory(self, name: str, member: str, *, to_write: bool) -> str:
        """Where it is, if this member may; else CopyError says what is in the way."""
        if name not in self.directories:
            raise CopyError(FileFault.FOLDER)
        allowed = [
            rule for rule in self._rules if rule.name == name and rule.member in (None, member)
        ]
        if not allowed:
            raise CopyError(FileFault.POLICY)
        if to_write and not any(rule.is_writable for rule in allowed):
            raise CopyError(FileFault.READ_ONLY)
        return self.directories[name]

    def __str__(self) -> str:
        return "\n".join(map(str, self._rules))
