"""The certificate that browsers and the command line see: given as files, or of our own authority.

DATA/hub-tls.pem     private key and certificate of our own, for the hub's user alone

It is looked at once a minute: files that were replaced are read anew; a certificate of our own is
made anew in good time before it ends, and when the hub is reached by another name or address.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from rookery.errors import DecodeError, UsageError
from rookery.hub.hub import Hub
from rookery.runtime.atomic_file import replace
from rookery.runtime.tls.authority import CertificateAuthority
from rookery.runtime.tls.certificate import Credential
from rookery.runtime.tls.certificate_files import CertificateFiles, CertificateFileWatcher
from rookery.runtime.tls.live_context import LiveContext
from rookery.runtime.tls.names import listener_names, normal_name
from rookery.web.settings import WebSettings

FILE_NAME = "hub-tls.pem"
LOOK_S = 60.0

_SIZE_MAX = 1 << 15

_log = logging.getLogger(__name__)

Names = Callable[[], frozenset[str]]


class _CertificateSource(Protocol):
    def refresh(self) -> None:
        """Have the listener show the newest that there is."""


class HubTls:
    """`context` is for the listener; `run` keeps its certificate good until cancelled."""

    def __init__(self, live: LiveContext, source: _CertificateSource, look_s: float) -> None:
        self.context: ssl.SSLContext = live.context
        self._source = source
        self._look_s = look_s

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._look_s)
            self._source.refresh()


class HubCertificate:
    """Signed by our authority; kept in a file, as listeners read certificates from files alone."""

    def __init__(
        self,
        authority: CertificateAuthority,
        file: Path,
        live: LiveContext,
        names: Names,
        clock: Callable[[], float],
        lifetime_s: float,
    ) -> None:
        self._authority = authority
        self._file = file
        self._live = live
        self._names = names
        self._clock = clock
        self._lifetime_s = lifetime_s
        self._credential: Credential | None = None

    def start(self) -> None:
        """The one of before, or a new one; UsageError when that cannot be written."""
        self._credential = self._kept()
        if not self._is_good():
            self._renew()
        self._live.load(self._file)

    def refresh(self) -> None:
        """A new one where it is due; what fails is tried again the next time."""
        try:
            if not self._is_good():
                self._renew()
                self._live.load(self._file)
        except UsageError as error:
            _log.warning("the certificate could not be renewed: %s", error)

    def _is_good(self) -> bool:
        known = self._credential
        return (
            known is not None
            and self._authority.has_signed(known)
            and known.is_good(self._names(), self._clock())
        )

    def _renew(self) -> None:
        names = self._names()
        made = self._authority.credential(names, self._clock(), self._lifetime_s)
        try:
            replace(self._file, made.serialize())
        except OSError as error:
            raise UsageError(f"cannot write {self._file}: {error.strerror}") from error
        self._credential = made
        _log.info("a new certificate for %s", ", ".join(sorted(names)))

    def _kept(self) -> Credential | None:
        try:
            with self._file.open("rb") as stream:
                return Credential.parse(stream.read(_SIZE_MAX))
        except (OSError, DecodeError):
            return None


def hub_tls(hub: Hub, host: str, settings: WebSettings) -> HubTls | None:
    """TLS as the settings configure it; UsageError if that is impossible."""
    if not settings.is_tls:
        return None
    live = LiveContext()
    if settings.tls_cert is not None and settings.tls_key is not None:
        files = CertificateFiles(settings.tls_cert, settings.tls_key)
        return HubTls(live, CertificateFileWatcher(files, live), LOOK_S)
    if hub.authority is None:
        raise UsageError("a certificate of its own needs a hub with an authority: --tls auto")
    names = (*settings.tls_names, hub.settings.advertise, _host(settings.public_url))
    own = HubCertificate(
        hub.authority,
        hub.settings.data / FILE_NAME,
        live,
        lambda: listener_names(host, names),
        time.time,
        settings.tls_lifetime_s,
    )
    own.start()
    return HubTls(live, own, min(LOOK_S, settings.tls_lifetime_s / 10))


def checked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """As they are; UsageError when a certificate cannot be for one of them."""
    for name in names:
        if normal_name(name) is None:
            raise UsageError(f"--tls-name {name}: give a host name or an IP address")
    return names


def _host(url: str) -> str:
    return urlsplit(url).hostname or "" if url else ""
