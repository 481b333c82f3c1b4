"""P2: what nodes, outboxes and brokers observe is in their spools, and tells what happened.

Alice and Carol tell the realm addresses at which nobody listens: between them are Bob and Dave.
"""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from rookery.wire.observation_content import (
    EndedRequest,
    LinkSample,
    ObservedRouteDecision,
    PublishedMessage,
    RecordChange,
)
from tests.cli.program import Running, rookery, running
from tests.e2e.processes import crow
from tests.e2e.test_mesh_cli import NOWHERE, until
from tests.patience import PATIENCE_S
from tests.runtime.realms import Home, realm
from tests.store.seen import T, seen


class Square(NamedTuple):
    homes: dict[str, Home]
    processes: dict[str, Running]
    folder: Path  # into which alice observes

    def seen(self, kind: type[T]) -> list[T]:
        return seen(self.folder, kind)

    def hashname(self, name: str) -> str:
        return self.homes[name].hashname


@pytest.fixture
def square(tmp_path: Path) -> Iterator[Square]:
    names = ("alice", "bob", "carol", "dave")
    homes = dict(zip(names, realm(tmp_path / "realm", *names), strict=True))
    processes: dict[str, Running] = {}
    folder = tmp_path / "observed"
    with ExitStack() as stack:

        def start(name: str, *options: str) -> str:
            running_ = running("node", *homes[name].options, *options)
            processes[name] = process = stack.enter_context(running_)
            link = homes[name].keys / "own.link"
            link.write_text(process.line())
            return str(link)

        bob, dave = start("bob"), start("dave")
        peers = ("--peer", bob, "--peer", dave, "--advertise", NOWHERE)
        start("carol", *peers)
        start("alice", *peers, "--observe", str(folder))
        yield Square(homes, processes, folder)


def reaches(square: Square) -> bool:
    return rookery("ping", "carol", "--id", square.homes["alice"].keys).code == 0


@pytest.mark.slow
def test_the_spool_of_a_node_tells_how_a_peer_died_p2(square: Square) -> None:
    carol, names = square.hashname("carol"), {home.hashname: n for n, home in square.homes.items()}

    def way() -> tuple[str, ...]:
        ways = [
            each.nodes for each in square.seen(ObservedRouteDecision) if each.destination == carol
        ]
        return ways[-1] if ways else ()

    # Only who sends decides on ways anew.
    until(lambda: reaches(square) and len(way()) == 3)

    def states(name: str) -> list[bool]:
        peer = square.hashname(name)
        return [each.is_up for each in square.seen(LinkSample) if each.peer == peer]

    until(lambda: states("bob")[-1:] == [True] and states("dave")[-1:] == [True])
    before, middle = way(), names[way()[1]]
    other = {"bob": "dave", "dave": "bob"}[middle]
    square.processes[middle].signal(signal.SIGKILL)
    around = (square.hashname("alice"), square.hashname(other), carol)
    until(lambda: reaches(square) and way() == around)
    until(lambda: states(middle)[-1] is False)
    assert states(other)[-1]

    decisions = [each for each in square.seen(ObservedRouteDecision) if each.destination == carol]
    told = next(each for each in decisions if each.previous == before)
    assert (told.source, told.verdict) == (square.hashname("alice"), "cheapest")
    # Alice's own link may die first: until Carol tells of hers, a way over both looks open.
    assert told.nodes[:2] == around[:2]
    assert "was in use" in told.reason
    assert told.candidates >= 2
    assert told.cost_us is not None

    def claims(name: str) -> list[set[str]]:
        node = square.hashname(name)
        changes = [each for each in square.seen(RecordChange) if each.node == node]
        return [{names[link.peer] for link in each.links} for each in changes]

    for name in ("alice", "carol"):
        assert {"bob", "dave"} in claims(name)
        assert middle not in claims(name)[-1]
    up = [each for each in square.seen(LinkSample) if each.is_up]
    assert {each.path for each in up} <= {"tcp4", "udp4"}
    assert any(each.rtt_ms and each.cost_us and each.loss_in == 0.0 for each in up)
    numbers = [each.n for each in seen(square.folder, msgspec.Struct) if hasattr(each, "n")]
    assert numbers == sorted(set(numbers))


@pytest.mark.slow
def test_a_node_that_is_told_to_stop_leaves_a_whole_spool_p2(square: Square) -> None:
    until(lambda: len(square.seen(LinkSample)) > 0)
    alice = square.processes["alice"]
    alice.signal(signal.SIGTERM)
    assert alice.wait(PATIENCE_S) == 0
    names = {each.node for each in square.seen(RecordChange)}
    assert square.hashname("alice") in names
    realms = {each.realm for each in square.seen(RecordChange)}
    shown = rookery("realm", "show", "--realm", square.homes["alice"].realm, "--json")
    assert realms == {json.loads(shown.out)["id"]}


@pytest.mark.slow
def test_requests_that_ended_are_in_the_spool_of_a_node_p2(square: Square) -> None:
    alice = square.homes["alice"].keys
    until(lambda: rookery("queue", "add", "bob", "hello", "--id", alice).code == 0)
    until(lambda: len(square.seen(EndedRequest)) > 0)
    told = square.seen(EndedRequest)[0]
    assert (told.node, told.peer) == (square.hashname("alice"), square.hashname("bob"))
    assert (told.size, told.attempts) == (5, 1)
    assert told.fate in {"acknowledged", "failed"}  # by who has no handler


def test_messages_of_marked_themes_are_in_the_spool_of_a_broker_p2(tmp_path: Path) -> None:
    options = ("--observe", str(tmp_path), "--lake-theme", "sensors/#")
    with crow("broker", "--udp", "0", *options) as (_, first):
        through = ("--broker", str(first["udp"]))
        for theme in ("sensors/hall", "other"):
            assert rookery("crow", "pub", theme, "21.5", *through).code == 0
        until(lambda: len(seen(tmp_path, PublishedMessage)) == 1)
    [told] = seen(tmp_path, PublishedMessage)
    assert (told.theme, told.payload) == ("sensors/hall", b"21.5")


@pytest.mark.parametrize("options", [("--observe", "x"), ("--lake-theme", "x")], ids=str)
def test_a_broker_observes_where_and_what_p2(options: tuple[str, str]) -> None:
    refused = rookery("crow", "broker", *options)
    assert refused.code == 2
    assert "go together" in refused.complaint()
