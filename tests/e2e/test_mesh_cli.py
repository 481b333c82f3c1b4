"""Three nodes as processes over loopback, looked at through their control sockets.

Alice and Carol tell the realm addresses at which nobody listens, so only Bob can be dialled.
"""

import json
import signal
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from rookery.wire.link.lob import JsonObject
from tests.cli.program import Outcome, Running, rookery, running
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm

NOWHERE = "127.0.0.1:9"


class Colony(NamedTuple):
    alice: Home
    bob: Home
    carol: Home
    processes: dict[str, Running]
    metrics: str  # of bob

    def ask(self, home: Home, verb: str, *arguments: str) -> Outcome:
        return rookery(verb, *arguments, "--id", home.keys)

    def rows(self, home: Home, verb: str, *arguments: str) -> list[JsonObject]:
        return self.ask(home, verb, *arguments, "--json").json_lines()


def until(condition: Callable[[], bool]) -> None:
    """Nodes find each other in their own time."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def colony(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Colony]:
    alice, bob, carol = realm(tmp_path_factory.mktemp("colony"), "alice", "bob", "carol")
    with ExitStack() as stack:

        def start(home: Home, *options: str) -> tuple[Running, Path]:
            process = stack.enter_context(running("node", *home.options, *options))
            link = home.keys / "own.link"
            link.write_text(process.line())
            return process, link

        bobs, link = start(bob, "--metrics", "127.0.0.1:0")
        alices, _ = start(alice, "--peer", str(link), "--advertise", NOWHERE)
        carols, _ = start(carol, "--peer", str(link), "--advertise", NOWHERE)
        processes = {"alice": alices, "bob": bobs, "carol": carols}
        metrics = bobs.error_line().split()[-1]
        colony = Colony(alice, bob, carol, processes, metrics)
        until(lambda: len(colony.rows(alice, "routes")) == 2)
        until(lambda: all(r["way"] for h in (alice, carol) for r in colony.rows(h, "routes")))
        yield colony


def test_every_node_is_ready(colony: Colony) -> None:
    for home in (colony.alice, colony.bob, colony.carol):
        assert colony.ask(home, "status", "--check", "ready").out == "ready\n"
        status = colony.ask(home, "status", "--json").json()
        assert (status["name"], status["members"], status["routes"]) == (home.name, 3, 2)


def test_peers_are_measured(colony: Colony) -> None:
    """M1, M10: a stream first, and datagrams beside it."""

    def bob() -> JsonObject:
        (row,) = (row for row in colony.rows(colony.alice, "peers") if row["state"] == "up")
        return row

    until(lambda: isinstance(bob()["rtt_ms"], float))
    measured = bob()
    assert measured["node"] == {"hashname": colony.bob.hashname, "name": "bob"}
    assert isinstance(measured["cost_us"], int)
    assert isinstance(measured["ways"], list)
    assert "tcp4" in {way["transport"] for way in measured["ways"]}

    def has_udp() -> bool:
        ways = bob()["ways"]
        assert isinstance(ways, list)
        states = {way["transport"]: way["state"] for way in ways}
        return states.get("udp4") == "up"

    until(has_udp)


def test_a_member_without_a_direct_way_is_reached_over_another(colony: Colony) -> None:
    (route,) = (r for r in colony.rows(colony.alice, "routes") if r["reach"] == "route")
    assert isinstance(route["way"], dict)
    assert [node["name"] for node in route["way"]["nodes"]] == ["alice", "bob", "carol"]


def test_ping_tells_direct_from_route(colony: Colony) -> None:
    """M2."""
    direct = colony.ask(colony.alice, "ping", "bob")
    assert direct.code == 0
    assert ", direct over " in direct.out
    assert len(direct.out.splitlines()) == 1
    routed = colony.ask(colony.alice, "ping", "carol", "--count", "2", "--interval", "0.1")
    assert routed.code == 0
    assert routed.out.count(", route over bob → carol") == 2
    assert "rookery netcheck" in routed.err


def test_trace_shows_the_hops(colony: Colony) -> None:
    first, second = colony.rows(colony.alice, "trace", "carol")
    assert [first["node"], second["node"]] == [
        {"hashname": colony.bob.hashname, "name": "bob"},
        {"hashname": colony.carol.hashname, "name": "carol"},
    ]
    assert second["is_last"] is True
    for hop in (first, second):
        assert isinstance(hop["rtts_ms"], list)
        assert all(0 < rtt < 1000 for rtt in hop["rtts_ms"])


def test_explain_says_why(colony: Colony) -> None:
    """R13."""
    outcome = colony.ask(colony.alice, "explain", "carol")
    assert outcome.code == 0
    assert "alice – bob – carol" in outcome.out
    assert "chosen" in outcome.out
    decision = colony.ask(colony.alice, "explain", "carol", "--json").json()["decision"]
    assert isinstance(decision, dict)
    assert decision["candidates"][0]["chosen"] is True


def test_netcheck_finds_no_fault(colony: Colony) -> None:
    outcome = colony.ask(colony.bob, "netcheck", "--json")
    findings = {row["check"]: row["finding"] for row in outcome.json_lines()}
    assert outcome.code == 0, outcome.out
    assert findings["certificate"] == findings["clock"] == findings["tcp-listening"] == "ok"
    assert findings["direct-peers"] == "ok"


def test_top_shows_a_frame(colony: Colony) -> None:
    outcome = colony.ask(colony.alice, "top")
    assert outcome.code == 0
    assert "alice · ready · realm home" in outcome.out


def test_metrics_count_what_is_relayed(colony: Colony) -> None:
    assert colony.ask(colony.alice, "ping", "carol", "--count", "1").code == 0
    text = urllib.request.urlopen(colony.metrics, timeout=PATIENCE_S).read().decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(values['rookery_route_packets_total{fate="relayed"}']) > 0
    assert values['rookery_peer_links{state="up"}'] == "2.0"
    assert float(values['rookery_mesh_bytes_total{purpose="flooded"}']) > 0


def test_a_frozen_node_does_not_hang_its_askers(colony: Colony) -> None:
    process = colony.processes["carol"]
    process.signal(signal.SIGSTOP)
    try:
        outcome = colony.ask(colony.carol, "status", "--check", "live", "--timeout", "0.5")
        assert outcome.code == 3
        assert "does not answer" in outcome.complaint()
    finally:
        process.signal(signal.SIGCONT)
    until(lambda: colony.ask(colony.carol, "status", "--check", "live").code == 0)
    until(lambda: colony.ask(colony.alice, "ping", "carol", "--count", "1").code == 0)


def test_a_dead_relay_is_named_with_its_error(colony: Colony) -> None:
    """The last test: bob is gone after it."""
    process = colony.processes["bob"]
    process.signal(signal.SIGKILL)
    process.wait()

    def is_lost() -> bool:
        rows = colony.rows(colony.alice, "peers")
        return not any(row["state"] == "up" for row in rows)

    until(is_lost)
    (bob,) = (
        row
        for row in colony.rows(colony.alice, "peers")
        if row["node"] == {"hashname": colony.bob.hashname, "name": "bob"}
    )
    assert bob["last_error"]
    assert colony.ask(colony.alice, "status", "--check", "ready").code == 1
    outcome = colony.ask(colony.alice, "ping", "carol", "--count", "1", "--timeout", "1")
    assert outcome.code == 3
    assert "no answer from carol" in outcome.out
    assert json.loads(colony.ask(colony.alice, "status", "--json").out)["problems"]
