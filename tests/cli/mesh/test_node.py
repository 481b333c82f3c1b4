"""`rookery node`: what it prints, who can look at it, how it stops, why it does not start."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from rookery.cli.main import main
from rookery.cli.mesh.node import parse_costs
from rookery.errors import UsageError
from tests.cli.program import rookery, running
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm


@pytest.fixture
def alice(tmp_path: Path) -> Home:
    (alice,) = realm(tmp_path, "alice")
    return alice


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_runs_until_a_signal_and_ends_well(number: signal.Signals, alice: Home) -> None:
    with running("node", *alice.options) as node:
        link = json.loads(node.line())
        assert link.keys() == {"hashname", "keys", "paths"}
        assert [path["type"] for path in link["paths"]] == ["tcp4", "udp4"]
        assert len({path["port"] for path in link["paths"]}) == 1
        assert (alice.keys / "control.sock").exists()
        began = time.monotonic()
        node.signal(number)
        assert node.wait(PATIENCE_S) == 0
        assert time.monotonic() - began < 5
        assert node.error_line() == ""
    assert not (alice.keys / "control.sock").exists()


def test_a_node_alone_is_ready(alice: Home) -> None:
    with running("node", *alice.options, "--json") as node:
        assert json.loads(node.line())["v"] == 1
        status = rookery("status", "--id", alice.keys, "--json").json()
        assert status["hashname"] == alice.hashname
        assert (status["realm"], status["members"], status["peers"]) == ("home", 1, 0)
        assert rookery("status", "--id", alice.keys, "--check", "ready").code == 0
        assert rookery("ping", "bob", "--id", alice.keys).code == 2


def test_a_killed_node_can_be_started_again(alice: Home) -> None:
    with running("node", *alice.options) as node:
        node.line()
        node.signal(signal.SIGKILL)
        node.wait()
        assert rookery("status", "--id", alice.keys, "--check", "live").code == 3
    with running("node", *alice.options) as node:
        node.line()
        assert rookery("status", "--id", alice.keys, "--check", "live").code == 0


def test_one_node_for_one_folder(alice: Home) -> None:
    with running("node", *alice.options) as node:
        node.line()
        outcome = rookery("node", *alice.options)
        assert outcome.code == 2
        assert "is running" in outcome.complaint()
        assert rookery("status", "--id", alice.keys, "--check", "live").code == 0


def test_the_socket_may_be_elsewhere(alice: Home, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.sock"
    with running("node", *alice.options, "--control", elsewhere) as node:
        node.line()
        assert rookery("status", "--control", elsewhere).code == 0
        assert rookery("status", "--id", alice.keys).code == 3


@pytest.mark.parametrize("address", ["127.0.0.1:0", "0"])
def test_metrics_and_health_are_served_when_asked_for(address: str, alice: Home) -> None:
    with running("node", *alice.options, "--metrics", address) as node:
        url = node.error_line().split()[-1]
        assert url.startswith("http://127.0.0.1:")
        node.line()
        metrics = urllib.request.urlopen(url, timeout=PATIENCE_S).read().decode()
        assert 'rookery_peer_links{state="up"} 0.0' in metrics
        ready = urllib.request.urlopen(url.replace("metrics", "ready"), timeout=PATIENCE_S)
        assert ready.status == 200


@pytest.mark.parametrize("options", [(), ("--observe", "observed")], ids=["", "observing"])
def test_an_idle_node_is_small(alice: Home, options: tuple[str, ...], tmp_path: Path) -> None:
    """Below 45 MB, for it runs on routers."""
    with running("node", *alice.options, *options, cwd=tmp_path) as node:
        node.line()
        status = rookery("status", "--id", alice.keys, "--json").json()
        pages = int(Path(f"/proc/{status['pid']}/statm").read_text().split()[1])
        assert pages * os.sysconf("SC_PAGE_SIZE") < 45 << 20


def test_what_an_idle_node_does_not_use_is_not_loaded() -> None:
    """Each takes memory; they are loaded when somebody first asks for them."""
    program = "import rookery.cli.mesh.node, sys; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", program], text=True).split())
    assert "rookery.runtime.node.node" in loaded
    assert not loaded & {
        "rookery.identity.cs3a",
        "rookery.mesh.files.folder",
        "rookery.mesh.proxy.rules",
        "rookery.store.observers.observer",
        "rookery.outbox.outbox",
        "rookery.runtime.bench.service",
        "rookery.runtime.endpoint.channels.box",
        "rookery.runtime.endpoint.channels.chat",
        "rookery.runtime.endpoint.channels.sock",
        "rookery.runtime.endpoint.channels.thtp",
        "rookery.runtime.endpoint.channels.ws",
        "rookery.runtime.endpoint.create",
        "rookery.runtime.control.listener_pool",
        "rookery.runtime.files.service",
        "rookery.runtime.node.metrics",
        "rookery.runtime.node.netcheck",
        "rookery.runtime.proxy.proxy",
        "sqlite3",
    }


@pytest.fixture
def two(tmp_path: Path) -> list[Home]:
    return realm(tmp_path, "alice", "bob")


def test_costs_name_members(two: list[Home]) -> None:
    alice, bob = two
    members = [
        member
        for home in two
        for member in home.store.membership(time.time()).members.values()
        if member.hashname == home.hashname
    ]
    for name in ("bob", bob.hashname, bob.hashname[:10]):
        assert parse_costs([f"{name}=20.5"], members) == {bob.hashname: 20_500}
    assert parse_costs(["bob=1", "alice=-2"], members) == {
        bob.hashname: 1000,
        alice.hashname: -2000,
    }
    for wrong in ("bob", "bob=", "=5", "bob=soon", "bob=nan", "bob=1e9", "carol=5"):
        with pytest.raises(UsageError, match="--cost"):
            parse_costs([wrong], members)


def test_advertise_none_tells_no_address(alice: Home) -> None:
    with running("node", *alice.options, "--advertise", "none") as node:
        assert json.loads(node.line())["paths"] == []
        node.signal(signal.SIGTERM)
        assert node.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--listen", "nonsense"], "IP:PORT"),
        (["--listen", "192.0.2.1:0"], "does not have that address"),
        (["--advertise", "nowhere:7"], "--advertise"),
        (["--advertise", "none", "--advertise", "192.0.2.1:7"], "either --advertise none"),
        (["--peer", "nobody"], "no link and no file"),
        (["--cost", "bob=fast"], "--cost"),
        (["--metrics", "here"], "IP:PORT"),
        (["--control", "missing/control.sock"], "--control"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    options: list[str], said: str, alice: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["node", *alice.options, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert said in line


def test_keys_and_realm_must_be_of_one_node(two: list[Home], tmp_path: Path) -> None:
    alice, bob = two
    outcome = rookery("node", "--id", alice.keys, "--realm", bob.realm)
    assert outcome.code == 2
    assert "one and the same node" in outcome.complaint()
    outcome = rookery("node", "--id", alice.keys, "--realm", tmp_path)
    assert outcome.code == 2
    assert "rookery realm init" in outcome.complaint()


@pytest.mark.parametrize(
    "wrong", [["--exit", "tcp anywhere"], ["--device", "a b=/dev/c"], ["--folder", "docs=nowhere"]]
)
def test_a_wrong_rule_device_or_folder_is_said_before_the_start(
    wrong: list[str], alice: Home
) -> None:
    assert main(["node", *alice.options, *wrong]) == 2
