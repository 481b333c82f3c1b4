"""`rookery sock`: a local port leads through the other end of a link, as far as its rules go."""

import json
import re
import signal
import socket

import pytest

from rookery.cli.link.sock import parse_forwarding
from rookery.cli.main import main
from rookery.errors import UsageError
from tests.cli.conftest import Bob
from tests.cli.program import running
from tests.patience import PATIENCE_S


def test_a_plain_client_is_forwarded(bob: Bob) -> None:
    with running("sock", bob.link, f"0:127.0.0.1:{bob.echo_port}") as sock:
        where = re.match(r"127\.0\.0\.1:(\d+) -> ", sock.line())
        assert where is not None
        with socket.create_connection(("127.0.0.1", int(where[1])), timeout=PATIENCE_S) as client:
            client.sendall(b"through bob")
            assert client.recv(100) == b"through bob"
        sock.signal(signal.SIGINT)
        assert sock.wait(PATIENCE_S) == 0


def test_what_the_rules_do_not_allow_is_reported(bob: Bob) -> None:
    """T5: default deny."""
    with running("sock", bob.link, "0:127.0.0.1:1", "--json") as sock:
        value = json.loads(sock.line())
        assert value.keys() == {"v", "listening", "to", "hashname"}
        with socket.create_connection(
            ("127.0.0.1", value["listening"]["port"]), timeout=PATIENCE_S
        ):
            line = sock.error_line()
    assert "does not allow" in line
    assert "--sock RULE" in line


def test_a_busy_local_port(bob: Bob, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sock", str(bob.link), f"{bob.echo_port}:127.0.0.1:1"]) == 2
    assert "choose another" in capsys.readouterr().err


def test_forwardings() -> None:
    assert parse_forwarding("8000:192.0.2.1:80") == (8000, "192.0.2.1", 80)
    assert parse_forwarding("0:[2001:db8::1]:80") == (0, "2001:db8::1", 80)
    assert parse_forwarding("1:example.org:443") == (1, "example.org", 443)


@pytest.mark.parametrize("text", ["", "80", "80:host", "host:80", ":host:80", "80:host:x", "a::1"])
def test_what_is_no_forwarding(text: str) -> None:
    with pytest.raises(UsageError, match="LOCALPORT:HOST:PORT"):
        parse_forwarding(text)
