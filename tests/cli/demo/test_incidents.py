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


async def test_an_incident_begins_and_ends_and_both_are_reported(tmp_path: Path) -> None:
    notices: list[IncidentNotice] = []
    socket = tmp_path / "demo.sock"
    async with incident_socket(IncidentControl(Storm(), notices.append), socket):
        assert (await send_command(socket, IncidentCommand("begin"))).text == "it blows"
        assert (await send_command(socket, IncidentCommand("end"))).is_over
    assert [notice.text for notice in notices] == ["it blows", "it is calm"]
    assert not socket.exists()


async def test_one_key_turns_it_on_and_off(tmp_path: Path) -> None:
    notices: list[IncidentNotice] = []
    control = IncidentControl(Storm(), notices.append)
    for is_over in (False, True, False):
        assert (await control.turn()).is_over is is_over


async def test_without_a_demo_there_is_no_socket(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="rookery demo"):
        await send_command(tmp_path / "demo.sock", IncidentCommand("begin"))
