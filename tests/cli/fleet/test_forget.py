"""`rookery fleet forget`, on a hub's database."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from rookery.cli.main import main
from rookery.fleet.entry import FleetEntry, server_id
from rookery.identity.hashname import hashname
from rookery.store.accounts.accounts import Accounts
from rookery.store.accounts.audit import AuditRow, AuditTrail
from rookery.store.database.database import Database
from rookery.store.fleet.devices import Devices
from rookery.store.fleet.entries import Entries

NORTH, ATTIC = (hashname({0x40: bytes([number]) * 64}) for number in (1, 2))
MAC, OTHER = bytes.fromhex("02fc00000001"), bytes.fromhex("02fc00000002")


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'hub.sqlite'}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a hub with a server, and a device of ann's."""

    async def fill() -> None:
        database = await Database.open(url(tmp_path))
        await database.migrate()
        rest = (bytes(64), bytes(32), 7, 1, 1, 1, 1.0, 1.0)
        north = FleetEntry(server_id(NORTH), "server", NORTH, *rest)
        await Entries(database).save_many([north, FleetEntry(MAC, "router", ATTIC, *rest)])
        ann = await Accounts(database).add("ann", "no password", now=0.0)
        await Devices(database).claim(MAC, ann.id, "attic", now=0.0)
        await database.close()

    asyncio.run(fill())
    return tmp_path


def call(folder: Path, *words: str) -> int:
    return main(["fleet", "forget", *words, "--data", str(folder)])


def left(folder: Path) -> tuple[list[FleetEntry | None], bool, list[AuditRow]]:
    """Entries of server and device, whether the device is somebody's, and the audit."""

    async def read() -> tuple[list[FleetEntry | None], bool, list[AuditRow]]:
        database = await Database.open(url(folder))
        try:
            entries = await Entries(database).find([server_id(NORTH), MAC])
            is_owned = await Devices(database).find(MAC) is not None
            return entries, is_owned, await AuditTrail(database).latest()
        finally:
            await database.close()

    return asyncio.run(read())


@pytest.mark.parametrize("name", ["02:fc:00:00:00:01", "02-FC-00-00-00-01", ATTIC])
def test_a_device_is_forgotten_by_mac_or_hashname(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert call(folder, name, "--json") == 0
    printed = msgspec.json.decode(capsys.readouterr().out, type=dict[str, object])
    expected = {"v": 1, "kind": "router", "hashname": ATTIC, "mac": "02:fc:00:00:00:01"}
    assert printed == {**expected, "owner": "ann"}
    (north, attic), is_owned, (row,) = left(folder)
    assert north is not None
    assert attic is None
    assert not is_owned
    assert (row.who, row.what, row.target) == ("rookery fleet", "device.forget", expected["mac"])
    assert row.detail["owner"] == "ann"


def test_a_server_is_forgotten_by_its_hashname(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(folder, NORTH, "--json") == 0
    printed = msgspec.json.decode(capsys.readouterr().out, type=dict[str, object])
    assert printed == {"v": 1, "kind": "server", "hashname": NORTH}
    (north, attic), is_owned, (row,) = left(folder)
    assert north is None
    assert attic is not None
    assert is_owned
    assert (row.what, row.target) == ("server.forget", NORTH)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("rook",), "neither a MAC nor a hashname"),
        (("02:fc:00:00:00:09",), "is known"),
        ((hashname({0x40: bytes(64)}),), "is known"),
    ],
)
def test_what_is_not_there_is_said_to_be(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], complaint: str
) -> None:
    assert call(folder, *words) == 2
    assert complaint in capsys.readouterr().err
    assert left(folder)[1]


def test_a_key_of_several_devices_names_none_of_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def add() -> None:
        database = await Database.open(url(folder))
        other = FleetEntry(OTHER, "router", ATTIC, bytes(64), bytes(32), 7, 1, 1, 1, 1.0, 1.0)
        await Entries(database).save_many([other])
        await database.close()

    asyncio.run(add())
    assert call(folder, ATTIC) == 2
    assert "give a MAC: 02:fc:00:00:00:01, 02:fc:00:00:00:02" in capsys.readouterr().err
