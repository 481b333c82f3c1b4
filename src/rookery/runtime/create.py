"""`rookery.create`: from key pairs and addresses to a mesh on real sockets."""

import asyncio
import os
import ssl
from collections.abc import Generator, Mapping
from pathlib import Path
from types import TracebackType

from rookery.errors import UsageError
from rookery.identity.cipher_set import KeyPair
from rookery.identity.cipher_sets import DEFAULT_CSIDS
from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.runtime import keystore
from rookery.runtime.mesh import Mesh
from rookery.runtime.tcp_gate import TcpGate
from rookery.runtime.udp_gate import UdpGate
from rookery.wire.lob import JsonObject

KeyPairs = Identity | Mapping[int, KeyPair] | Path | str | None

LOOPBACK = "127.0.0.1:0"


class Creating:
    """`mesh = await create(…)`, or `async with create(…) as mesh:` which also closes it."""

    def __init__(
        self,
        keypairs: KeyPairs,
        *,
        udp: str | None,
        tcp: str | None,
        tls: str | None,
        tls_context: ssl.SSLContext | None,
        limits: AdmissionLimits | None,
    ) -> None:
        self._keypairs = keypairs
        self._udp = udp
        self._tcp = tcp
        self._tls = tls
        self._tls_context = tls_context
        self._limits = limits
        self._mesh: Mesh | None = None

    def __await__(self) -> Generator[object, None, Mesh]:
        return self._create().__await__()

    async def __aenter__(self) -> Mesh:
        self._mesh = await self._create()
        return self._mesh

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._mesh is not None
        await self._mesh.close()

    async def _create(self) -> Mesh:
        identity = await asyncio.to_thread(_identity, self._keypairs)
        mesh = Mesh(identity, limits=self._limits)
        try:
            await self._open_gates(mesh)
        except BaseException:
            await mesh.close()
            raise
        return mesh

    async def _open_gates(self, mesh: Mesh) -> None:
        if self._udp is not None:
            mesh.add_gate(await UdpGate.bind(mesh, *parse_address(self._udp)))
        streams = TcpGate(mesh, link_json=lambda: _visible(mesh))
        mesh.add_gate(streams)
        if self._tcp is not None:
            await streams.listen(*parse_address(self._tcp))
        if self._tls is not None:
            if self._tls_context is None:
                raise UsageError("a TLS address needs a certificate: pass tls_context")
            await streams.listen(*parse_address(self._tls), tls=self._tls_context)
        mesh.gates_changed()


def create(
    keypairs: KeyPairs = None,
    *,
    udp: str | None = LOOPBACK,
    tcp: str | None = LOOPBACK,
    tls: str | None = None,
    tls_context: ssl.SSLContext | None = None,
    limits: AdmissionLimits | None = None,
) -> Creating:
    """A mesh with these key pairs, a stored identity's folder, or new keys.

    `udp`, `tcp` and `tls` are addresses to listen on, `IP:PORT` or `[IP]:PORT`, None for none;
    the default is loopback on free ports.
    """
    return Creating(keypairs, udp=udp, tcp=tcp, tls=tls, tls_context=tls_context, limits=limits)


def parse_address(text: str) -> tuple[str, int]:
    """`192.0.2.1:42424` or `[2001:db8::1]:42424`; UsageError for anything else."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal():
        raise UsageError(f"{text!r} is not an address: use IP:PORT or [IP]:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _identity(keypairs: KeyPairs) -> Identity:
    if keypairs is None:
        return Identity.generate(DEFAULT_CSIDS, os.urandom)
    if isinstance(keypairs, Identity):
        return keypairs
    if isinstance(keypairs, str | Path):
        return keystore.load(Path(keypairs))
    return Identity(keypairs)


def _visible(mesh: Mesh) -> JsonObject | None:
    """What strangers may read over HTTP: our address while we announce it, otherwise nothing."""
    return mesh.address.json() if mesh.is_discoverable else None
