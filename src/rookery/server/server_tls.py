"""The certificate that browsers see of a server: given as files, or signed by the hub's authority.

    server ─ CERTIFY, sealed to the hub's keys ─▶ hub ─ connects back ─▶ server ◀─ CERTIFIED ─ hub

ID/server-tls.pem      private key and certificate of the hub's authority, for our user alone

Until there is a certificate handshakes fail, and `problem` says why.
"""

import asyncio
import logging
import random
import ssl
import time
from pathlib import Path
from typing import Protocol

from rookery.errors import DecodeError, DeniedError, RookeryError, UnreachableError, UsageError
from rookery.identity.identity import Identity
from rookery.runtime.atomic_file import replace
from rookery.runtime.fleet.hub_address import HubAddress
from rookery.runtime.fleet.sealed_connection import SealedConnection, SealedConnectionLimits
from rookery.runtime.tls.certificate import Credential, SigningRequest, new_key
from rookery.runtime.tls.certificate_files import CertificateFiles, CertificateFileWatcher
from rookery.runtime.tls.live_context import LiveContext
from rookery.wire.fleet.messages import (
    CertifiedMessage,
    CertifyMessage,
    FaultCode,
    FaultMessage,
    decode,
    encode,
)

FILE_NAME = "server-tls.pem"
LOOK_S = 60.0

_DIAL_S = 10.0
_ANSWER_S = 60.0  # the hub connects to each name
_FIRST_PAUSE_S = 1.0
_DENIED_PAUSE_S = 60.0  # the hub audits each refusal
_SIZE_MAX = 1 << 15
_LIMITS = SealedConnectionLimits(received_bytes_max=1 << 16)

_log = logging.getLogger(__name__)


class ServerTls(Protocol):
    """`context` is for the listener; `run` keeps its certificate good until cancelled."""

    @property
    def context(self) -> ssl.SSLContext: ...

    @property
    def problem(self) -> str:
        """Why there is no certificate; empty when there is one."""

    def announce(self, names: frozenset[str]) -> None:
        """By which others reach us; before `run`."""

    async def run(self) -> None: ...


class FilesTls:
    """What the operator gives, and replaces."""

    problem = ""

    def __init__(self, files: CertificateFiles) -> None:
        """UsageError when they cannot be used."""
        live = LiveContext()
        self.context = live.context
        self._given = CertificateFileWatcher(files, live)

    def announce(self, names: frozenset[str]) -> None:
        """Nothing to do: the operator provides the files."""

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._given.refresh()


class HubSignedTls:
    """Asks the hub when there is none, and in good time before it ends."""

    def __init__(self, folder: Path, identity: Identity, hub: HubAddress) -> None:
        self._file = folder / FILE_NAME
        self._identity = identity
        self._hub = hub
        self._names: frozenset[str] = frozenset()
        self._live = LiveContext()
        self._problem = "the hub has not been asked yet"
        self._credential: Credential | None = None
        self.context = self._live.context

    @property
    def problem(self) -> str:
        known = self._credential
        if known is not None and known.begins <= time.time() < known.ends:
            return ""
        return f"it has no certificate: {self._problem}"

    def announce(self, names: frozenset[str]) -> None:
        self._names = names
        self._credential = self._kept()

    async def run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        if not self._is_good():
            await asyncio.sleep(pause_s)  # the hub signs for servers that have enrolled
        while True:
            if self._is_good():
                await asyncio.sleep(LOOK_S)
                continue
            try:
                await self._renew()
                pause_s = _FIRST_PAUSE_S
                continue
            except DeniedError as error:
                self._say(error)
                pause_s = _DENIED_PAUSE_S
            except (RookeryError, OSError) as error:
                self._say(error)
            await asyncio.sleep(pause_s * random.uniform(0.8, 1.2))  # noqa: S311 (no secret)
            pause_s = min(2 * pause_s, _DENIED_PAUSE_S)

    def _is_good(self) -> bool:
        return self._credential is not None and self._credential.is_good(self._names, time.time())

    def _say(self, error: Exception) -> None:
        if str(error) != self._problem:
            _log.warning("no certificate from the hub: %s", error)
        self._problem = str(error)

    async def _renew(self) -> None:
        key = new_key()
        answer = await self._requested(SigningRequest.serialize(key, self._names))
        made = Credential.of_answer(key, answer.chain)
        if not made.is_good(self._names, time.time()):
            raise DecodeError("the hub signs for other names or times; compare the clocks")
        self._store(made)
        _log.info("a new certificate for %s", ", ".join(sorted(self._names)))

    async def _requested(self, request: bytes) -> CertifiedMessage:
        connection = await self._dialled()
        try:
            connection.send(encode(CertifyMessage(request)))
            async with asyncio.timeout(_ANSWER_S):
                tlv = await connection.receive()
        except TimeoutError as error:
            raise UnreachableError("the hub does not answer in time") from error
        finally:
            connection.close()
        if tlv is None:
            raise UnreachableError("the hub closes without an answer; is it of an older version?")
        match decode(tlv):
            case CertifiedMessage() as certified:
                return certified
            case FaultMessage(FaultCode.DENIED, text):
                raise DeniedError(text)
            case FaultMessage(_, text):
                raise UnreachableError(text)
        raise DecodeError("the hub answers something else")

    async def _dialled(self) -> SealedConnection:
        failure = UnreachableError("the hub has no address")
        for ip, port in await self._hub.tcp():
            try:
                return await SealedConnection.dial(
                    self._identity,
                    self._hub.hashname,
                    self._hub.stream_keys,
                    ip,
                    port,
                    timeout_s=_DIAL_S,
                    limits=_LIMITS,
                )
            except UnreachableError as error:
                failure = error
        raise failure

    def _store(self, made: Credential) -> None:
        replace(self._file, made.serialize())
        self._live.load(self._file)
        self._credential = made

    def _kept(self) -> Credential | None:
        """That of before, as long as it is one for these names; another is asked for later."""
        try:
            with self._file.open("rb") as stream:
                known = Credential.parse(stream.read(_SIZE_MAX))
            if not known.names.issuperset(self._names):
                return None
            self._live.load(self._file)
        except (OSError, DecodeError, UsageError):
            return None
        return known
