"""Credentials of a user at a hub: URL and token, in a file that only the user can read (0600).

{"v":1,"url":"https://hub.example.org","login":"ann","token":"rk_…","token_id":7}

Where the hub has an authority of its own, its certificate is there as well, as `authority`.
"""

import os
import stat
from pathlib import Path
from typing import Annotated

import msgspec

from rookery.client.trust import Trust
from rookery.errors import UsageError
from rookery.runtime.atomic_file import replace

FILE_NAME = "hub.json"
VERSION = 1

_SIZE_MAX = 1 << 18
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class HubCredentials(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As one sign-in left them."""

    v: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)] = VERSION
    url: str
    login: str
    token: str
    token_id: int
    authority: str | msgspec.UnsetType = msgspec.UNSET  # left out, older programs read the file too

    @property
    def trust(self) -> Trust:
        """As at the sign-in; a hub that was reached without TLS then still is."""
        pinned = self.authority if isinstance(self.authority, str) else ""
        return Trust(authority=pinned, may_be_plain=True)

    def __repr__(self) -> str:
        return f"HubCredentials({self.login} at {self.url})"


def load(folder: Path) -> HubCredentials:
    """UsageError if there are none, or if other users could have read the token."""
    file = folder / FILE_NAME
    try:
        with file.open("rb") as stream:
            if os.fstat(stream.fileno()).st_mode & _OTHERS:
                raise UsageError(f"others can read {file}; chmod 600 it, or sign in anew")
            data = stream.read(_SIZE_MAX)
    except FileNotFoundError as error:
        raise UsageError("nobody is signed in; start with: rookery login URL") from error
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    try:
        return msgspec.json.decode(data, type=HubCredentials)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{file} is damaged; sign in anew with: rookery login URL") from error


def save(folder: Path, credentials: HubCredentials) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace(folder / FILE_NAME, msgspec.json.encode(credentials) + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error


def remove(folder: Path) -> None:
    try:
        (folder / FILE_NAME).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot remove {folder / FILE_NAME}: {error.strerror}") from error
