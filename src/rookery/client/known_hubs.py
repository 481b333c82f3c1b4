"""The authorities of hubs that the user has accepted, by the hub's host and port.

{"v":1,"hubs":{"hub.example.org:8420":"-----BEGIN CERTIFICATE-----…"}}

They outlive a sign-in, as the known hosts of ssh do.
"""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from rookery.errors import UsageError
from rookery.runtime.atomic_file import replace

FILE_NAME = "known_hubs.json"
VERSION = 1
HUBS_MAX = 256

_SIZE_MAX = 8 << 20
_HTTPS_PORT = 443


class _KnownHubsFile(msgspec.Struct, frozen=True, kw_only=True):
    v: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)] = VERSION
    hubs: Annotated[dict[str, str], msgspec.Meta(max_length=HUBS_MAX)] = {}


class KnownHubs:
    """The file in the user's data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / FILE_NAME

    def authority(self, url: str) -> str:
        """PEM; empty for a hub that is not known."""
        return self._load().hubs.get(_host_and_port(url), "")

    def pin(self, url: str, authority: str) -> None:
        """Pin this authority: no other is accepted for this hub from now on."""
        known = self._load()
        hubs = {**known.hubs, _host_and_port(url): authority}
        if hubs == known.hubs:
            return
        if len(hubs) > HUBS_MAX:
            raise UsageError(f"{self._file} has {HUBS_MAX} hubs; remove those that are gone")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace(self._file, msgspec.json.encode(_KnownHubsFile(hubs=hubs)) + b"\n")
        except OSError as error:
            raise UsageError(f"cannot write {self._file}: {error.strerror}") from error

    def _load(self) -> _KnownHubsFile:
        try:
            with self._file.open("rb") as stream:
                return msgspec.json.decode(stream.read(_SIZE_MAX), type=_KnownHubsFile)
        except FileNotFoundError:
            return _KnownHubsFile()
        except OSError as error:
            raise UsageError(f"cannot read {self._file}: {error.strerror}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # Not begun anew: that would accept any authority as if the hub were a new one.
            raise UsageError(
                f"{self._file} is damaged; mend it or move it away: {error}"
            ) from error


def _host_and_port(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or _HTTPS_PORT}"
