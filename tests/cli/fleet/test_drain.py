"""`rookery fleet drain`, on a hub's database."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from rookery.cli.main import main
from rookery.identity.hashname import hashname
from rookery.store.accounts.audit import AuditTrail
from rookery.store.database.database import Database

SERVER = hashname({0x40: bytes(64)})


def call(folder: Path, *words: str) -> int:
    return main(["fleet", "drain", *words, "--data", str(folder)])


def noted(folder: Path) -> list[tuple[str, str]]:
    async def read() -> list[tuple[str, str]]:
        database = await Database.open(f"sqlite:///{folder / 'hub.sqlite'}")
        try:
            return [(row.what, row.target) for row in await AuditTrail(database).latest()]
        finally:
            await database.close()

    return asyncio.run(read())


def test_a_server_is_drained_listed_and_serves_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, SERVER) == 0
    capsys.readouterr()
    assert call(tmp_path, "--list", "--json") == 0
    listed = msgspec.json.decode(capsys.readouterr().out, type=dict[str, object])
    assert (listed["hashname"], listed["who"]) == (SERVER, "rookery fleet")
    assert call(tmp_path, SERVER, "--undo") == 0
    capsys.readouterr()
    assert call(tmp_path, "--list", "--json") == 0
    assert capsys.readouterr().out == ""
    assert noted(tmp_path) == [("server.undrain", SERVER), ("server.drain", SERVER)]


@pytest.mark.parametrize("words", [(), ("rook",), ("--list", SERVER), (SERVER, "--undo")])
def test_what_cannot_be_meant_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert call(tmp_path, *words) != 0
