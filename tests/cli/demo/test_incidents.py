"""The desk: another terminal lets the incident happen, and ends it."""

from pathlib import Path

import pytest

from rookery.cli.demo.incidents import (
    IncidentCommand,
    IncidentControl,
    IncidentNotice,
    incident_socket,
    send_command,
)
from rookery.errors import UnreachableError


class Storm:
    async def begin(self) -> IncidentNotice:
        return IncidentNotice("it blows", is_over=False)

    async def end(self) -> IncidentNotice:
        return IncidentNotice("it is calm", is_over=True)


async def test_it_happens_and_ends_and_everybody_is_told(tmp_path: Path) -> None:
    heard: list[IncidentNotice] = []
    socket = tmp_path / "demo.sock"
    async with incident_socket(IncidentControl(Storm(), heard.append), socket):
        assert (await send_command(socket, IncidentCommand("begin"))).text == "it blows"
        assert (await send_command(socket, IncidentCommand("end"))).is_over
    assert [told.text for told in heard] == ["it blows", "it is calm"]
    assert not socket.exists()


async def test_one_key_turns_it_on_and_off(tmp_path: Path) -> None:
    heard: list[IncidentNotice] = []
    desk = IncidentControl(Storm(), heard.append)
    for is_over in (False, True, False):
        assert (await desk.turn()).is_over is is_over


async def test_nobody_is_there_without_a_demo(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="rookery demo"):
        await send_command(tmp_path / "demo.sock", IncidentCommand("begin"))
