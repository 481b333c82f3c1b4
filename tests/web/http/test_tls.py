"""The hub's own certificate: renewed while it runs, for new names, under one authority (M7)."""

import asyncio
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import msgspec
import pytest

from rookery.errors import UsageError
from rookery.hub.hub import Hub
from rookery.hub.settings import HubSettings
from rookery.runtime.endpoint import keystore
from rookery.runtime.tls.authority import CertificateAuthority
from rookery.runtime.tls.certificate import DAY_S, Credential
from rookery.runtime.tls.live_context import LiveContext
from rookery.web.http.tls import FILE_NAME, HubCertificate
from rookery.web.serve import serve
from tests.hub.identities import identity
from tests.patience import PATIENCE_S
from tests.web.world import SETTINGS

AUTO = msgspec.structs.replace(SETTINGS, is_tls_auto=True)


async def certificate(url: str, context: ssl.SSLContext) -> dict[str, object]:
    """What is shown there, if it holds."""
    host, port = url.removeprefix("https://").split(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    shown: dict[str, object] = writer.get_extra_info("peercert")
    writer.close()
    return shown


async def test_a_certificate_is_renewed_without_a_restart(tmp_path: Path) -> None:
    keystore.save(tmp_path, identity("hub"))
    settings = msgspec.structs.replace(AUTO, tls_lifetime_s=6.0)
    async with await Hub.start(HubSettings(data=tmp_path, is_authority=True)) as hub:
        assert hub.authority is not None
        context = ssl.create_default_context(cadata=hub.authority.pem.decode())
        async with serve(hub, "127.0.0.1", 0, settings) as url:
            first = await certificate(url, context)
            async with asyncio.timeout(PATIENCE_S):
                while (later := await certificate(url, context)) == first:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert later["serialNumber"] != first["serialNumber"]
            assert later["issuer"] == first["issuer"]
            async with httpx.AsyncClient(verify=context, base_url=url) as client:
                assert (await client.get("/authority.pem")).content == hub.authority.pem
        assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600


async def test_a_hub_with_a_certificate_of_others_shows_no_authority(tmp_path: Path) -> None:
    keystore.save(tmp_path, identity("hub"))
    async with await Hub.start(HubSettings(data=tmp_path)) as hub:
        with pytest.raises(UsageError, match="--tls auto"):
            async with serve(hub, "127.0.0.1", 0, AUTO):
                pass
        async with (
            serve(hub, "127.0.0.1", 0, SETTINGS) as url,
            httpx.AsyncClient(base_url=url) as client,
        ):
            assert (await client.get("/authority.pem")).status_code == 404


class Kept:
    """A certificate of our own, whose clock and names the test moves."""

    def __init__(self, folder: Path, authority: CertificateAuthority) -> None:
        self.now = 1_800_000_000.0
        self.names = frozenset({"hub.example.org"})
        self._file = folder / FILE_NAME
        self._made: Callable[[], HubCertificate] = lambda: HubCertificate(
            authority,
            self._file,
            LiveContext(),
            lambda: self.names,
            lambda: self.now,
            30 * DAY_S,
        )
        self.restart()

    def restart(self) -> None:
        self.own = self._made()
        self.own.start()

    @property
    def credential(self) -> Credential:
        return Credential.parse(self._file.read_bytes())

    @property
    def serial(self) -> int:
        return self.credential.chain[0].serial_number


def test_it_is_made_anew_when_it_is_due_and_for_new_names_alone(tmp_path: Path) -> None:
    """In virtual time."""
    authority = CertificateAuthority.make("abcdefgh", 1_800_000_000.0)
    kept = Kept(tmp_path, authority)
    first = kept.serial
    for _ in range(19):
        kept.now += DAY_S
        kept.own.refresh()
        kept.restart()
        assert kept.serial == first
    kept.now += 2 * DAY_S
    kept.own.refresh()
    assert (second := kept.serial) != first
    kept.names |= {"192.0.2.7"}
    kept.own.refresh()
    assert (third := kept.serial) != second
    assert kept.credential.names == kept.names
    assert authority.has_signed(kept.credential)
    kept.names -= {"192.0.2.7"}
    kept.own.refresh()
    assert kept.serial == third  # an address may come back
    kept.now -= 40 * DAY_S  # the clock was wrong before
    kept.own.refresh()
    assert kept.serial != third


def test_a_certificate_of_another_authority_is_replaced_at_the_start(tmp_path: Path) -> None:
    kept = Kept(tmp_path, CertificateAuthority.make("abcdefgh", 1_800_000_000.0))
    foreign, other = kept.serial, CertificateAuthority.make("abcdefgh", 1_800_000_000.0)
    again = Kept(tmp_path, other)
    assert again.serial != foreign
    assert other.has_signed(again.credential)


def test_a_folder_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    kept = Kept(tmp_path, CertificateAuthority.make("abcdefgh", time.time()))
    before = kept.serial
    kept.names |= {"new.example.org"}
    aside = tmp_path / "away"
    (tmp_path / FILE_NAME).rename(aside)
    (tmp_path / FILE_NAME).mkdir()  # nothing can take its place
    kept.own.refresh()
    (tmp_path / FILE_NAME).rmdir()
    aside.rename(tmp_path / FILE_NAME)
    assert kept.serial == before
    kept.own.refresh()
    assert kept.serial != before
