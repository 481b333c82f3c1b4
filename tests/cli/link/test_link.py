"""`rookery link`: a link that comes up is described, one that does not is exit code 3."""

import json
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.runtime.endpoint import keystore
from tests.cli.conftest import Bob
from tests.cli.program import rookery


def test_a_link_is_described(bob: Bob) -> None:
    outcome = rookery("link", bob.link)
    assert outcome.code == 0
    words = dict(line.split(maxsplit=1) for line in outcome.out.splitlines())
    assert words["state"] == "up"
    assert words["hashname"] == json.loads(bob.link.read_text())["hashname"]
    assert words["rtt"].endswith(" ms")


def test_a_link_as_json(bob: Bob) -> None:
    link = json.loads(bob.link.read_text())
    value = rookery("link", "--json", bob.link.read_text()).json()
    assert value.keys() == {"v", "state", "hashname", "path", "rtt_ms", "cs"}
    assert (value["state"], value["hashname"], value["cs"]) == ("up", link["hashname"], "40")
    assert value["path"] in link["paths"]


def test_the_link_may_come_from_stdin(bob: Bob) -> None:
    assert rookery("link", "-", stdin=bob.link.read_bytes()).code == 0


def test_tcp_alone_is_enough(bob: Bob) -> None:
    """T5: the caller dials and listens nowhere."""
    link = json.loads(bob.link.read_text())
    link["paths"] = [path for path in link["paths"] if path["type"] == "tcp4"]
    value = rookery("link", "--json", json.dumps(link)).json()
    assert value["path"] == link["paths"][0]


def test_no_answer_is_exit_code_3(bob: Bob) -> None:
    link = json.loads(bob.link.read_text())
    link["paths"] = [{"type": "udp4", "ip": "127.0.0.1", "port": 9}]
    outcome = rookery("link", json.dumps(link), "--timeout", "0.5")
    assert outcome.code == 3
    assert outcome.out == ""
    assert "is not reachable" in outcome.complaint()
    assert "is it running" in outcome.complaint()


def test_a_hashname_without_an_answer(bob: Bob, capsys: pytest.CaptureFixture[str]) -> None:
    hashname = json.loads(bob.link.read_text())["hashname"]
    assert main(["link", hashname, "--timeout", "0.2"]) == 3
    assert "--via LINK" in capsys.readouterr().err


def test_keys_that_make_another_hashname(bob: Bob, capsys: pytest.CaptureFixture[str]) -> None:
    link = json.loads(bob.link.read_text())
    link["keys"].popitem()
    assert main(["link", json.dumps(link)]) == 2
    assert "another hashname" in capsys.readouterr().err


def test_no_cipher_set_in_common(
    bob: Bob, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keystore.create(tmp_path, [0x2A])
    assert main(["link", str(bob.link), "--id", str(tmp_path)]) == 2
    assert "no cipher set in common" in capsys.readouterr().err


def test_an_address_that_cannot_be_bound(bob: Bob, capsys: pytest.CaptureFixture[str]) -> None:
    port = json.loads(bob.link.read_text())["paths"][0]["port"]
    assert main(["link", str(bob.link), "--udp", f"127.0.0.1:{port}"]) == 2
    assert "already in use; choose another" in capsys.readouterr().err
