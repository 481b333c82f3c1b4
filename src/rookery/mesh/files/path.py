"""Path of a file at another member: `FOLDER/relative/path`, by names only.

Nothing in it can lead out of its folder: no empty name, no `.` or `..`, no control character, and
none of the names under which files are kept that have not arrived as a whole. What the names lead
to is for those to check who open them: there may be symbolic links.
"""

import re
from typing import Self

import msgspec

from rookery.errors import DecodeError

PATH_SIZE_MAX = 1024
NAME_SIZE_MAX = 240  # bytes; 255 on most disks, and a part's name is longer
FOLDER_SIZE_MAX = 64

_FOLDER = re.compile(r"[0-9A-Za-z_][0-9A-Za-z._-]*", re.ASCII)
_PART = re.compile(r"\..*\.part", re.DOTALL)


class FilePath(msgspec.Struct, frozen=True):
    """`parts` has one name at least; the last one is the file's."""

    folder: str
    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts[-1]

    @classmethod
    def parse(cls, text: str) -> Self:
        """DecodeError unless it is one."""
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise DecodeError("a path that is no UTF-8") from error
        if size > PATH_SIZE_MAX:
            raise DecodeError(f"a path of {size} bytes; {PATH_SIZE_MAX} at most")
        folder, *parts = text.split("/")
        if not is_folder(folder):
            raise DecodeError("a path begins with the name of a folder")
        if not parts or not all(map(is_name, parts)):
            raise DecodeError("a path is FOLDER/NAME or FOLDER/NAME/NAME/…, plain names only")
        return cls(folder, tuple(parts))

    def __str__(self) -> str:
        return "/".join((self.folder, *self.parts))


def is_folder(name: str) -> bool:
    """Whether a folder may be called so."""
    return len(name) <= FOLDER_SIZE_MAX and _FOLDER.fullmatch(name) is not None


def is_name(name: str) -> bool:
    """Whether a file or a folder in a folder may be called so."""
    if name in ("", ".", "..") or "/" in name or _PART.fullmatch(name):
        return False
    if any(char < " " or char == "\x7f" or "\ud800" <= char <= "\udfff" for char in name):
        return False
    return len(name.encode()) <= NAME_SIZE_MAX


def part_name(name: str) -> str:
    """What a file is called until it is here as a whole."""
    return f".{name}.part"
