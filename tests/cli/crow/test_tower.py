"""`rookery crow tower`: what it prints, whom it lets pass, how it stops, why it does not start."""

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rookery.cli.crow.open_tower import parse_serial
from rookery.cli.main import main
from rookery.errors import UsageError
from rookery.wire.crow import address as crow_address
from rookery.wire.crow.packet import CrowPacket
from rookery.wire.link.lob import JsonObject
from tests.cli.program import Running, rookery, running
from tests.e2e.null_modem import null_modem
from tests.patience import PATIENCE_S


@contextmanager
def tower(*options: str) -> Iterator[tuple[Running, JsonObject]]:
    """A running tower, and its first line."""
    with running("crow", "tower", *options) as process:
        first = json.loads(process.line())
        assert (first["v"], first["event"]) == (1, "listening")
        yield process, first


def closed(process: Running) -> JsonObject:
    """Stop it in good order; its last line."""
    process.signal(signal.SIGTERM)
    line: JsonObject = json.loads(process.line())
    assert line["event"] == "closed"
    assert process.wait(PATIENCE_S) == 0
    return line


def test_it_prints_what_arrives_until_a_signal() -> None:
    with tower("--json") as (process, first):
        address = str(first["udp"])
        assert address.startswith(".12.127.0.0.1:")  # loopback, unless told otherwise
        assert rookery("crow", "send", address, "hello", "--qos", "2", "--type", "5").code == 0
        packet = json.loads(process.line())
        assert packet.pop("from").startswith(".12.127.0.0.1:")
        assert packet == {"v": 1, "event": "packet", "type": 5, "qos": 2, "data": "hello"}
        assert closed(process)["dropped"] == {}


def test_bytes_that_are_no_text() -> None:
    with tower() as (process, first):
        assert rookery("crow", "send", str(first["udp"]), "-", stdin=b"\xff\x00").code == 0
        assert json.loads(process.line())["data_base64"] == "/wA="


def test_messages_for_nodes() -> None:
    """C2: a node that is not there is an error that comes back."""
    with tower("--node", "7", "--node", "8") as (process, first):
        address = str(first["udp"])
        sender = ["--from-node", "44"]
        assert rookery("crow", "send", address, "to a node", "--node", "8", *sender).code == 0
        message = json.loads(process.line())
        assert message["event"] == "message"
        assert (message["from_node"], message["node"]) == (44, 8)
        assert message["data"] == "to a node"
        outcome = rookery("crow", "send", address, "x", "--node", "9")
        assert outcome.code == 3
        assert "there is no node 9" in outcome.complaint()


@pytest.mark.parametrize("gate", ["udp", "tcp"])
def test_an_echo_comes_back_from_either_gate(gate: str) -> None:
    with tower(f"--{gate}", "0", "--echo") as (process, first):
        (address,) = (str(first[name]) for name in ("udp", "tcp") if name in first)
        assert rookery("crow", "send", address, "hello", "--qos", "2").code == 0
        assert json.loads(process.line())["qos"] == 2
        gates = closed(process)["gates"]
        assert isinstance(gates, dict)
        assert gates[gate]["out"] >= 2  # an acknowledgement and the echo


def test_an_echo_of_a_node_message_is_for_the_node_it_came_from() -> None:
    with tower("--node", "7", "--echo") as (_, first), tower("--node", "5") as (process, second):
        # A packet from node 5 of the second tower, as if it had sent it.
        hop = crow_address.parse(str(first["udp"]))
        data = bytes([5, 0, 7, 0, 0]) + b"there and back"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind(("127.0.0.1", 0))
            sock.settimeout(PATIENCE_S)
            port = int.from_bytes(hop[-2:], "big")
            sock.sendto(
                CrowPacket(3, False, hop, 0, 1, 0, 200, data).serialize(), ("127.0.0.1", port)
            )
            echo = CrowPacket.parse(sock.recv(1000))
        assert echo.data == bytes([7, 0, 5, 0, 0]) + b"there and back"
        assert second["udp"] != first["udp"]
        assert closed(process)["dropped"] == {}


def test_packets_of_others_pass_only_where_that_is_allowed() -> None:
    """C1: forwarding is off by default."""
    with tower() as (process, end):
        with tower() as (shut, first):
            route = f"{first['udp']}{end['udp']}"
            assert rookery("crow", "send", route, "x", "--ackquant", "20").code == 3
            dropped = closed(shut)["dropped"]
            assert isinstance(dropped, dict)
            assert dropped["forwarding is off"] == 5
        with tower("--udp", "0", "--tcp", "0", "--forward") as (_, first):
            route = f"{first['tcp']}{end['udp']}"
            assert rookery("crow", "send", route, "over two hops", "--qos", "2").code == 0
        packet = json.loads(process.line())
        assert packet["data"] == "over two hops"
        assert packet["from"].count(".127.0.0.1:") == 2


def test_only_those_on_the_list_are_let_in() -> None:
    """C7: the list is per gate."""
    with tower("--udp", "0", "--tcp", "0", "--allow", "udp=192.0.2.0/24") as (process, first):
        assert rookery("crow", "send", str(first["udp"]), "x", "--ackquant", "20").code == 3
        assert rookery("crow", "send", str(first["tcp"]), "welcome").code == 0
        assert json.loads(process.line())["data"] == "welcome"
        gates = closed(process)["gates"]
        assert isinstance(gates, dict)
        assert gates["udp"]["dropped"] == {"denied": 5}


def test_hostile_datagrams_are_counted_by_reason() -> None:
    with tower() as (process, first):
        hop = crow_address.parse(str(first["udp"]))
        port = int.from_bytes(hop[-2:], "big")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"short", ("127.0.0.1", port))
            sock.sendto(
                CrowPacket(0, False, b"\x0c", 0, 1, 0, 0, b"").serialize(), ("127.0.0.1", port)
            )
        assert rookery("crow", "send", str(first["udp"]), "after them").code == 0
        assert json.loads(process.line())["data"] == "after them"
        line = closed(process)
        assert line["dropped"] == {"hop over the address": 1}
        assert isinstance(line["gates"], dict)
        assert line["gates"]["udp"]["dropped"] == {"malformed": 1}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--udp", "65536"], "not a port"),
        (["--bind", "192.0.2.1"], "does not have that address"),
        (["--bind", "::1"], "IPv4 only"),
        (["--tcp", "0", "--bind", "::1"], "IPv4 only"),
        (["--allow", "everybody"], "not a network"),
        (["--allow", "serial=10.0.0.0/8"], "no gate 'serial'"),
        (["--serial", "no/such/line"], "No such file"),
        (["--serial", ""], "PATH"),
        (["--node", "65536"], "no node"),
        (["--node", "5", "--node", "5"], "registered already"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crow", "tower", *options]) == 2
    captured = capsys.readouterr()
    assert "listening" not in captured.out
    (line,) = captured.err.splitlines()
    assert said in line


def test_a_busy_port() -> None:
    with tower("--udp", "0") as (_, first):
        port = str(first["udp"]).rpartition(":")[2]
        outcome = rookery("crow", "tower", "--udp", port)
        assert outcome.code == 2
        assert "already in use" in outcome.complaint()


def test_serial_lines_as_they_are_given() -> None:
    assert parse_serial("/dev/ttyUSB0") == ("/dev/ttyUSB0", 115_200, 1, 1)
    assert parse_serial("/dev/ttyUSB0:9600") == ("/dev/ttyUSB0", 9600, 1, 1)
    assert parse_serial("line::v0:g0") == ("line", 115_200, 0, 0)


@pytest.mark.parametrize(
    "text", ["", ":9600", "line:fast", "line:1:v2", "line:1:v1:g2", "l:1:v1:g1:1"]
)
def test_what_is_no_serial_line(text: str) -> None:
    with pytest.raises(UsageError, match="PATH"):
        parse_serial(text)


def test_two_towers_on_a_serial_line(tmp_path: Path) -> None:
    """C5: two pseudo-terminals joined end to end."""
    with null_modem(tmp_path) as (left, right), tower("--serial", str(left)) as (process, first):
        assert first == {"v": 1, "event": "listening", "serial": ".42"}
        sent = rookery("crow", "send", ".42", "over a wire", "--qos", "2", "--serial", right)
        assert sent.code == 0
        assert json.loads(process.line())["data"] == "over a wire"
