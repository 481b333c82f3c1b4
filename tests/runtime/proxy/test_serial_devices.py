"""M8: serial lines by name."""

from pathlib import Path

import pytest

from rookery.errors import ChannelError, UsageError
from rookery.mesh.proxy.fault import ProxyConnectError, ProxyFault
from rookery.mesh.proxy.opening import SerialTarget
from rookery.runtime.proxy.serial_devices import SerialDevices, open_path
from tests.runtime.proxy.servers import gadget


def test_lines_are_known_by_their_names_while_they_are_plugged_in(tmp_path: Path) -> None:
    (tmp_path / "by-id").mkdir()
    devices = SerialDevices({"meter": str(tmp_path / "tty")}, str(tmp_path / "by-id"))
    assert devices.plugged() == ()
    with gadget(tmp_path / "tty"), gadget(tmp_path / "by-id" / "usb-x"):
        (tmp_path / "by-id" / ".hidden").touch()
        assert devices.plugged() == ("meter", "usb-x")
    assert devices.plugged() == ()


def test_a_machine_without_lines_has_none(tmp_path: Path) -> None:
    assert SerialDevices(folder=str(tmp_path / "nothing")).plugged() == ()


def test_a_path_is_no_name() -> None:
    with pytest.raises(UsageError):
        SerialDevices({"../x": "/dev/null"})


async def test_failures_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, fault in (
        (tmp_path / "nothing", ProxyFault.GONE),
        (tmp_path / "file" / "x", ProxyFault.GONE),
        (tmp_path / "file", ProxyFault.UNREACHABLE),  # not a terminal
        (tmp_path, ProxyFault.UNREACHABLE),
    ):
        with pytest.raises(ProxyConnectError) as failed:
            open_path(str(path), SerialTarget("meter"))
        assert failed.value.fault is fault


async def test_a_line_has_one_user_at_a_time(tmp_path: Path) -> None:
    with gadget(tmp_path / "meter") as meter:
        devices = SerialDevices(folder=str(tmp_path))
        stream = devices.open(SerialTarget("meter"))
        with pytest.raises(ProxyConnectError, match="in use"):
            devices.open(SerialTarget("meter"))
        stream.abort(0)
        stream.abort(0)
        with pytest.raises(ChannelError):
            await stream.read(1)
        with pytest.raises(ChannelError):
            await stream.write(b"x")
        again = devices.open(SerialTarget("meter"))
        meter.write(b"x")
        assert await again.read(1) == b"x"
        await again.close()
