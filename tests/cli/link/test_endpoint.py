"""`rookery endpoint`: what it prints, whom it lets in, how it stops, why it does not start."""

import json
import signal
import socket
import time
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.runtime.endpoint import keystore
from tests.cli.conftest import Bob
from tests.cli.program import Outcome, rookery, running
from tests.patience import PATIENCE_S
from tests.runtime.certificate import self_signed


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    keystore.create(tmp_path / "keys", [0x40, 0x3A])
    return tmp_path / "keys"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_a_signal_and_ends_well(number: signal.Signals, keys: Path) -> None:
    with running("endpoint", "--id", keys) as endpoint:
        link = json.loads(endpoint.line())
        assert link.keys() == {"hashname", "keys", "paths"}
        assert [path["type"] for path in link["paths"]] == ["udp4", "tcp4"]
        assert all(path["ip"] == "127.0.0.1" for path in link["paths"])
        began = time.monotonic()
        endpoint.signal(number)
        assert endpoint.wait(PATIENCE_S) == 0
        assert time.monotonic() - began < 5
        assert endpoint.error_line() == ""


def test_strangers_get_no_answer_unless_all_are_accepted(keys: Path, tmp_path: Path) -> None:
    """T3: `known` is the default, and a name is enough to be known."""
    friend = keystore.create(tmp_path / "friend", [0x40])
    known = ["--known", friend.hashname]
    with running("endpoint", "--id", keys, "--udp", "127.0.0.1:0", *known) as endpoint:
        link = endpoint.line()
        assert rookery("link", link, "--timeout", "0.5").code == 3
        assert rookery("link", link, "--id", tmp_path / "friend").code == 0


def test_what_is_not_offered_is_denied(keys: Path) -> None:
    with running("endpoint", "--id", keys, "--accept", "all", "--json") as endpoint:
        link = endpoint.line()
        assert json.loads(link).keys() == {"v", "hashname", "keys", "paths", "uri"}
        outcomes = [
            rookery("stream", json.loads(link)["uri"], stdin=b"x"),
            rookery("thtp", "GET", link, "/"),
            rookery("box", "list", link, "--id", keys.parent / "other"),
        ]
    assert [outcome.code for outcome in outcomes] == [4, 4, 2]
    assert "start that endpoint with --echo" in outcomes[0].complaint()
    assert "start that endpoint with --thtp" in outcomes[1].complaint()


def test_a_router_introduces_by_name(bob: Bob, keys: Path) -> None:
    """T4: bob routes; the caller knows a hashname and bob."""
    hashname = keystore.load(keys).hashname
    options = ["--accept", "all", "--echo", "--via", str(bob.link)]
    with running("endpoint", "--id", keys, *options) as endpoint:
        paths = json.loads(endpoint.line())["paths"]
        assert {"type": "peer", "hn": json.loads(bob.link.read_text())["hashname"]} in paths
        outcome = _until_linked(hashname, bob)
    assert (outcome.code, outcome.out) == (0, "by name\n")


def _until_linked(hashname: str, bob: Bob) -> Outcome:
    """The endpoint may still be on its way to its router."""
    for _ in range(5):
        outcome = rookery(
            "stream", hashname, "--via", bob.link, "--timeout", "3", stdin=b"by name\n"
        )
        if outcome.code == 0:
            break
    return outcome


def test_a_proxy_to_a_local_server(keys: Path) -> None:
    """T5: no server there is the server's fault, and the caller is told so."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with running("endpoint", "--id", keys, "--accept", "all", "--thtp", url) as endpoint:
        outcome = rookery("thtp", "GET", endpoint.line(), "/")
    assert outcome.code == 1
    assert "status 502" in outcome.complaint()


def test_tls_alone_is_enough(keys: Path, tmp_path: Path) -> None:
    """T5: a stream in disguise; the keys of the link prove who is there."""
    certificate, key = self_signed(tmp_path)
    tls = ["--tls", "127.0.0.1:0", "--cert", str(certificate), "--key", str(key)]
    with running("endpoint", "--id", keys, "--accept", "all", *tls) as endpoint:
        value = rookery("link", endpoint.line(), "--json").json()
    assert isinstance(value["path"], dict)
    assert value["path"]["type"] == "tls4"


def test_a_busy_port(keys: Path, bob: Bob) -> None:
    paths = json.loads(bob.link.read_text())["paths"]
    for option, path in zip(("--udp", "--tcp"), paths, strict=True):
        outcome = rookery("endpoint", "--id", keys, option, f"127.0.0.1:{path['port']}")
        assert outcome.code == 2
        assert "already in use" in outcome.complaint()


def test_a_damaged_key_file(keys: Path) -> None:
    (keys / "identity.json").write_bytes(b"{")
    outcome = rookery("endpoint", "--id", keys)
    assert (outcome.code, outcome.out) == (2, "")
    assert "identity.json is damaged" in outcome.complaint()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--udp", "nonsense"], "IP:PORT"),
        (["--udp", "192.0.2.1:0"], "does not have that address"),
        (["--thtp", "missing"], "not a directory"),
        (["--thtp", "ftp://x"], "http://"),
        (["--sock", "everything"], "--sock"),
        (["--tls", "127.0.0.1:0"], "--cert"),
        (["--tls", "127.0.0.1:0", "--cert", "no.pem", "--key", "no.pem"], "No such file"),
        (["--known", "nobody"], "no link and no file"),
        (["--via", "nobody"], "no link and no file"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    options: list[str], said: str, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["endpoint", "--id", str(keys), *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert said in line
