"""`rookery server`: what it does not take, and how it says so."""

import json
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.wire.link.path import net_path
from rookery.wire.link.uri import LinkAddress
from tests.server.world import HUB


@pytest.fixture
def hub(tmp_path: Path) -> str:
    paths = (net_path("udp", "127.0.0.1", 9), net_path("tcp", "127.0.0.1", 9))
    file = tmp_path / "hub.link"
    file.write_text(json.dumps(LinkAddress(HUB.hashname, dict(HUB.keys), paths).json()))
    return str(file)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seats", "0"], "--seats 0: give 1 to 100000"),
        (["--code-file", "nowhere"], "cannot read a code from nowhere"),
        (["--code-file", "empty"], "empty holds no code; make one with: rookery fleet code"),
        (["--code-file", "short"], "a code has 16 letters and digits"),
        (["--code-file", "odd"], "this is no code"),
        (["--tcp", "127.0.0.1"], "is not an address"),
        (["--tcp", "192.0.2.1:0"], "does not have that address; choose another address"),
        (["--http", "127.0.0.1:99999"], "99999 is not a port"),
        (["--http", "0.0.0.0:0"], "show tickets and calls to everybody on the way"),
        (["--http", "[::]:0"], "or say --insecure-http"),
        (["--http", ":0"], "--http on all addresses without TLS"),
        (["--http", "192.0.2.1:0", "--insecure-http"], "does not have that address"),
    ],
)
def test_what_will_not_do_is_said_in_one_line(
    options: list[str],
    said: str,
    hub: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("empty", "\n"), ("short", "ABCD-EFGH\n"), ("odd", "ABCD-0189-ABCD-ABCD\n")):
        (tmp_path / name).write_text(text)
    assert main(["server", "--hub", hub, "--id", str(tmp_path / "id"), *options]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1


def test_a_link_without_keys_is_not_a_hubs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["server", "--hub", HUB.hashname, "--id", str(tmp_path)]) == 2
    assert "lacks its keys" in capsys.readouterr().err
