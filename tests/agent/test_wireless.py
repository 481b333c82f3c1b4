"""The signal of wireless interfaces, from what kernels write."""

from pathlib import Path

import pytest

from rookery.agent import sampler, wireless
from rookery.agent.sampler import DeviceSampler
from rookery.wire.fleet import telemetry

HEADING = """\
Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE
 face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22
"""
LAPTOP = "wlp3s0: 0000   58.  -52.  -256        0      0      0      0     61        0\n"
SECOND = " wlan1: 0000   31.  -79.  -256        0      0      0      0      2        0\n"
LONG_NAME = (
    "wlx00c0caa1b2c3: 0000   70.  -40.  -256        0      0      0      0      0        0\n"
)
UNCONNECTED = " wlan0: 0000    0     0     0        0      0      0      0      0        0\n"
INVALID = " wlan0: 0000    0   -256  -256        0      0      0      0      0        0\n"
RELATIVE = " wlan0: 0000   94.   62.   20.       0      0      0      0      0        0\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (HEADING + LAPTOP, -52.0),
        (HEADING + SECOND + LAPTOP, -52.0),
        (HEADING + LONG_NAME, -40.0),
        (HEADING + UNCONNECTED + SECOND, -79.0),
        (HEADING + UNCONNECTED, None),
        (HEADING + INVALID, None),
        (HEADING + RELATIVE, None),
        (HEADING, None),
        ("", None),
        (HEADING + "wlan0: 0000\nwlan1\n\n:\nwlan2: 0000 1. nan. 3.\n", None),
    ],
    ids=[
        *("client", "best", "long_name", "one_unconnected", "unconnected", "invalid"),
        *("no_dbm", "no_interface", "empty", "rubbish"),
    ],
)
def test_the_level_in_dbm_of_the_best_interface(
    tmp_path: Path, content: str, expected: float | None
) -> None:
    path = tmp_path / "wireless"
    path.write_text(content)
    assert wireless.signal_dbm(path) == expected


def test_bytes_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "wireless"
    path.write_bytes(HEADING.encode() + b"\xff\xfe: 0000\n" + LAPTOP.encode())
    assert wireless.signal_dbm(path) == -52.0


def test_without_wireless_extensions_there_is_no_signal(tmp_path: Path) -> None:
    assert wireless.signal_dbm(tmp_path / "no" / "wireless") is None


def test_a_report_has_the_signal_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for signal in (-52.0, None):
        monkeypatch.setattr(sampler, "signal_dbm", lambda found=signal: found)
        report = DeviceSampler().sample()
        assert report.signal == signal
        content = telemetry.encode(report)
        assert telemetry.decode(content) == report
        assert (b"signal" in content) == (signal is not None)
