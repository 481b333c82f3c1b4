"""Certificates that change under a listener, and handshakes that come to nothing."""

import asyncio
import os
import ssl
import time
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.runtime.tls.authority import CertificateAuthority
from rookery.runtime.tls.certificate import Credential, certificate_pem, key_pem, new_key
from rookery.runtime.tls.certificate_files import CertificateFiles, CertificateFileWatcher
from rookery.runtime.tls.live_context import LiveContext

AUTHORITY = CertificateAuthority.make("abcdefgh", time.time())


def trusting(authority: CertificateAuthority = AUTHORITY) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.pem.decode())


def made() -> Credential:
    return AUTHORITY.credential({"127.0.0.1"}, time.time())


class Echo:
    """A listener with a live context."""

    def __init__(self, live: LiveContext) -> None:
        self._live = live

    async def __aenter__(self) -> tuple[str, int]:
        self._server = await asyncio.start_server(
            self._serve, "127.0.0.1", 0, ssl=self._live.context
        )
        host, port = self._server.sockets[0].getsockname()
        return host, port

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()


async def shown(place: tuple[str, int], context: ssl.SSLContext | None = None) -> object:
    """The serial number of the certificate that is shown."""
    reader, writer = await asyncio.open_connection(*place, ssl=context or trusting())
    writer.write(b"x")
    assert await reader.readexactly(1) == b"x"
    certificate = writer.get_extra_info("peercert")
    writer.close()
    return certificate["serialNumber"]


def serial(credential: Credential) -> str:
    text = f"{credential.chain[0].serial_number:X}"
    return text if len(text) % 2 == 0 else f"0{text}"


async def test_a_new_certificate_counts_from_the_next_connection_on(tmp_path: Path) -> None:
    live, file = LiveContext(), tmp_path / "tls.pem"
    assert not live.is_ready
    async with Echo(live) as place:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(place)
        first, second = made(), made()
        file.write_bytes(first.serialize())
        live.load(file)
        assert live.is_ready
        reader, writer = await asyncio.open_connection(*place, ssl=trusting())
        assert await shown(place) == serial(first)
        file.write_bytes(second.serialize())
        live.load(file)
        assert await shown(place) == serial(second)
        writer.write(b"y")  # the old connection goes on
        assert await reader.readexactly(1) == b"y"
        writer.close()


async def test_what_cannot_be_used_replaces_nothing(tmp_path: Path) -> None:
    live, file = LiveContext(), tmp_path / "tls.pem"
    good = made()
    file.write_bytes(good.serialize())
    live.load(file)
    async with Echo(live) as place:
        for bad in (b"", b"junk", Credential(new_key(), made().chain).serialize()):
            file.write_bytes(bad)
            with pytest.raises(UsageError):
                live.load(file)
            assert await shown(place) == serial(good)


async def test_versions_before_1_2_are_refused(tmp_path: Path) -> None:
    """Downgraded: a client that speaks nothing newer gets no connection."""
    live, file = LiveContext(), tmp_path / "tls.pem"
    file.write_bytes(made().serialize())
    live.load(file)
    old = trusting()
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="deprecated"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    async with Echo(live) as place:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await shown(place, old)
        assert await shown(place)


async def test_files_that_are_replaced_are_read_anew(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path / "cert.pem", tmp_path / "key.pem")

    def write(credential: Credential) -> None:
        for file, data in zip(
            files, (certificate_pem(credential.chain[0]), key_pem(credential.key)), strict=True
        ):
            aside = tmp_path / "aside"
            aside.write_bytes(data)
            os.replace(aside, file)

    first, second = made(), made()
    write(first)
    live = LiveContext()
    given = CertificateFileWatcher(files, live)
    async with Echo(live) as place:
        given.refresh()
        assert await shown(place) == serial(first)
        files.key.write_bytes(key_pem(second.key))  # half of a renewal
        given.refresh()
        assert await shown(place) == serial(first)
        write(second)
        given.refresh()
        assert await shown(place) == serial(second)
        files.chain.unlink()
        given.refresh()
        assert await shown(place) == serial(second)


def test_an_encrypted_key_is_an_error_and_no_question(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    credential = made()
    locked = credential.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    (tmp_path / "cert.pem").write_bytes(certificate_pem(credential.chain[0]))
    (tmp_path / "key.pem").write_bytes(locked)
    with pytest.raises(UsageError, match="without a password"):
        LiveContext().load(tmp_path / "cert.pem", tmp_path / "key.pem")
