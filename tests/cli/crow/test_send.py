"""`rookery crow send`: what became of a packet, told and by exit code."""

import signal
import socket
from pathlib import Path

import pytest

from rookery.cli.main import main
from tests.cli.crow.test_tower import tower
from tests.cli.program import rookery, running
from tests.patience import PATIENCE_S


def test_delivered_is_printed() -> None:
    """C3: QoS 1 and 2 are confirmed, QoS 0 is only sent."""
    with tower() as (_, first):
        address = str(first["udp"])
        for qos in "12":
            shown = rookery("crow", "send", address, "x", "--qos", qos, "--json").json()
            assert shown.keys() == {"v", "status", "address", "qos", "ms"}
            assert (shown["status"], shown["qos"]) == ("delivered", int(qos))
        assert rookery("crow", "send", address, "x", "--qos", "0").out.splitlines() == [
            "status   sent",
            f"address  {address}",
            "qos      0",
        ]


def test_undelivered_is_exit_code_3() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        address = f".12.127.0.0.1:{silent.getsockname()[1]}"
        outcome = rookery("crow", "send", address, "x", "--ackquant", "20", "--json")
        assert outcome.code == 3
        assert outcome.json()["status"] == "undelivered"
        assert outcome.json()["reason"] == "no acknowledgement"
        assert "not delivered" in outcome.complaint()
        silent.setblocking(False)
        assert len([silent.recv(100) for _ in range(5)]) == 5


def test_our_port_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"from a file")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tower() as (process, first):
        data = f"@{tmp_path}/data"
        assert rookery("crow", "send", str(first["udp"]), data, "--udp", str(port)).code == 0
        line = process.line()
    assert f'"from":".12.127.0.0.1:{port}"' in line
    assert '"data":"from a file"' in line


def test_a_signal_ends_the_wait() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.settimeout(PATIENCE_S)
        address = f".12.127.0.0.1:{silent.getsockname()[1]}"
        with running("crow", "send", address, "x", "--ackquant", "630") as process:
            silent.recv(100)
            process.signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 130


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["", "x"], "this very tower"),
        (["nonsense", "x"], "begins with 'n'"),
        ([".42", "x"], "--serial"),
        ([".99", "x"], "no gate 99 here"),
        ([".12.127.0", "x"], "too short"),
        ([".12.192.0.2.1:1", "x"], "--bind"),
        ([".12.127.0.0.1:1", "@/no/such/file"], "cannot read"),
        ([".12.127.0.0.1:1", "x" * 70_000], "longer than"),
        ([".12.127.0.0.1:1", "x", "--qos", "3"], "qos 3"),
        ([".12.127.0.0.1:1", "x", "--type", "8"], "type 8"),
        ([".12.127.0.0.1:1", "x", "--type", "3"], "--node"),
        ([".12.127.0.0.1:1", "x", "--type", "0", "--node", "1"], "--node"),
        ([".12.127.0.0.1:1", "x", "--from-node", "1"], "--node"),
        ([".12.127.0.0.1:1", "x", "--node", "65536"], "65536"),
        ([".12.127.0.0.1:1", "x", "--ackquant", "-1"], "ackquant"),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crow", "send", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert said in line
