"""`rookery.create`: from key pairs and addresses to an endpoint on real sockets."""

import asyncio
import os
import ssl
from collections.abc import Generator, Mapping
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from rookery.errors import DecodeError, UsageError
from rookery.identity.cipher_set import KeyPair
from rookery.identity.cipher_sets import DEFAULT_CSIDS
from rookery.identity.identity import Identity
from rookery.link.admission import AdmissionLimits
from rookery.runtime.endpoint import keystore
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.runtime.endpoint.gates.tcp_gate import TcpGate
from rookery.runtime.endpoint.gates.udp_gate import UdpGate
from rookery.runtime.endpoint.gates.unix_gate import UnixGate
from rookery.runtime.net.address import LOOPBACK, parse_address
from rookery.wire.link.lob import JsonObject
from rookery.wire.link.path import UrlPath, parse_path

KeyPairs = Identity | Mapping[int, KeyPair] | Path | str | None


class EndpointCreation:
    """`endpoint = await create(…)`, or `async with create(…) as endpoint:` which also closes it."""

    def __init__(
        self,
        keypairs: KeyPairs,
        *,
        udp: str | None,
        tcp: str | None,
        tls: str | None,
        tls_context: ssl.SSLContext | None,
        http: str | None,
        unix: Path | str | None,
        limits: AdmissionLimits | None,
    ) -> None:
        self._keypairs = keypairs
        self._udp = udp
        self._tcp = tcp
        self._tls = tls
        self._tls_context = tls_context
        self._http = http
        self._unix = unix
        self._limits = limits
        self._endpoint: AsyncEndpoint | None = None

    def __await__(self) -> Generator[object, None, AsyncEndpoint]:
        return self._create().__await__()

    async def __aenter__(self) -> AsyncEndpoint:
        self._endpoint = await self._create()
        return self._endpoint

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._endpoint is not None
        await self._endpoint.close()

    async def _create(self) -> AsyncEndpoint:
        identity = await asyncio.to_thread(_identity, self._keypairs)
        endpoint = AsyncEndpoint(identity, limits=self._limits)
        try:
            await self._open_gates(endpoint)
        except BaseException:
            await endpoint.close()
            raise
        return endpoint

    async def _open_gates(self, endpoint: AsyncEndpoint) -> None:
        if self._udp is not None:
            endpoint.add_gate(await UdpGate.bind(endpoint, *parse_address(self._udp)))
        url = None if self._http is None else _public_url(self._http)
        # Only who knows our name or our URL finds that there is a WebSocket at all.
        resource = f"/{endpoint.hashname}" if url is None else urlsplit(url.url).path or "/"
        streams = TcpGate(endpoint, link_json=lambda: _visible(endpoint), resource=resource)
        endpoint.add_gate(streams)
        files = UnixGate(endpoint, link_json=lambda: _visible(endpoint), resource=resource)
        endpoint.add_gate(files)
        if self._unix is not None:
            await files.listen(self._unix)
        if self._tcp is not None:
            await streams.listen(*parse_address(self._tcp))
        if self._tls is not None:
            if self._tls_context is None:
                raise UsageError("a TLS address needs a certificate: pass tls_context")
            await streams.listen(*parse_address(self._tls), tls=self._tls_context)
        endpoint.gates_changed(() if url is None else (url,))


def create(
    keypairs: KeyPairs = None,
    *,
    udp: str | None = LOOPBACK,
    tcp: str | None = LOOPBACK,
    tls: str | None = None,
    tls_context: ssl.SSLContext | None = None,
    http: str | None = None,
    unix: Path | str | None = None,
    limits: AdmissionLimits | None = None,
) -> EndpointCreation:
    """An endpoint with these key pairs, a stored identity's folder, or new keys.

    `udp`, `tcp` and `tls` are addresses to listen on, `IP:PORT` or `[IP]:PORT`, None for none;
    the default is loopback on free ports. The TCP listener also takes WebSockets, at
    `/<hashname>` or at the path of `http`, a public URL to tell others. `unix` is the file of a
    Unix socket to listen on, for programs of this machine.
    """
    return EndpointCreation(
        keypairs,
        udp=udp,
        tcp=tcp,
        tls=tls,
        tls_context=tls_context,
        http=http,
        unix=unix,
        limits=limits,
    )


def _public_url(text: str) -> UrlPath:
    try:
        path = parse_path({"type": "http", "url": text})
    except DecodeError as error:
        raise UsageError(f"{text!r} is not a URL: use http://HOST:PORT/PATH") from error
    assert isinstance(path, UrlPath)
    return path


def _identity(keypairs: KeyPairs) -> Identity:
    if keypairs is None:
        return Identity.generate(DEFAULT_CSIDS, os.urandom)
    if isinstance(keypairs, Identity):
        return keypairs
    if isinstance(keypairs, str | Path):
        return keystore.load(Path(keypairs))
    return Identity(keypairs)


def _visible(endpoint: AsyncEndpoint) -> JsonObject | None:
    """What strangers may read over HTTP: our address while we announce it, otherwise nothing."""
    return endpoint.address.elsewhere().json() if endpoint.is_discoverable else None
