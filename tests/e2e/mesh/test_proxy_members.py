"""M7: an exit asks who is at the far end of the tunnel, not who brought the packets.

alice ── hub ── bob        and carol, whose program speaks Telehash's `sock` to bob
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from tests.cli.program import rookery, running
from tests.e2e.mesh.colony import HIDDEN, Colony, colony, exits, port_in, until
from tests.e2e.mesh.destinations import (
    LOCAL,
    Echoes,
    QuietServer,
    connected,
    received,
    serving,
)

pytestmark = pytest.mark.xdist_group("members")


class World(NamedTuple):
    nodes: Colony
    ports: dict[str, int]  # what bob lets each of them reach, and nobody else


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("members")
    with ExitStack() as stack:
        nodes = stack.enter_context(colony(folder, "hub", "alice", "bob", "carol"))
        members = ("hub", "alice", "carol")
        ports = {name: serving(stack, QuietServer(LOCAL, Echoes)) for name in members}
        rules = [
            f"tcp 127.0.0.1:{port} from {nodes.hashname(name)}" for name, port in ports.items()
        ]
        nodes.start("hub")
        nodes.start("alice", near=["hub"], advertise=HIDDEN)
        nodes.start("bob", *exits(*rules), near=["hub"])
        until(lambda: nodes.relays("alice", "bob") == [("hub",)])
        until(lambda: nodes.relays("hub", "bob") == [()])
        nodes.start("carol", near=["hub"], advertise=HIDDEN)  # only to be known as a member
        until(lambda: nodes.relays("bob", "carol") == [("hub",)])
        nodes.kill("carol")
        yield World(nodes, ports)


def gets_through(port: int) -> bool:
    """A listener may be closed again before the call that knocked at it has returned."""
    try:
        with connected(port) as session:
            session.sendall(b"hello")
            return received(session, 5) == b"hello"
    except ConnectionError:
        return False


@pytest.mark.parametrize("who", ["hub", "alice"])
@pytest.mark.parametrize("whose", ["hub", "alice", "carol"])
def test_what_is_allowed_to_one_is_allowed_to_no_other(world: World, who: str, whose: str) -> None:
    """Neither to a neighbour of the exit that carries it, nor to who comes through that."""
    port = world.ports[whose]
    with world.nodes.listener(who, "forward", f"0:127.0.0.1:{port}@bob") as (listener, local):
        assert gets_through(local) is (who == whose)
        if who != whose:
            assert "no rule allows it" in listener.error_line()


def test_telehash_sock_is_served_by_the_same_rules(world: World) -> None:
    """To members; a stranger cannot even ask."""
    bob, carol = world.nodes.link("bob"), world.nodes.homes["carol"].keys
    for whose, port in world.ports.items():
        with running("sock", bob, f"0:127.0.0.1:{port}", "--id", carol) as listener:
            assert gets_through(port_in(listener.line())) is (whose == "carol")
            if whose != "carol":
                assert "does not allow" in listener.error_line()
    with running("sock", bob, f"0:127.0.0.1:{world.ports['carol']}") as listener:
        assert not gets_through(port_in(listener.line()))


def test_who_is_no_member_any_more_is_carried_no_more(world: World) -> None:
    """The last test: alice is gone after it. What she has open ends as well."""
    nodes, port = world.nodes, world.ports["alice"]
    with (
        nodes.listener("alice", "forward", f"0:127.0.0.1:{port}@bob") as (_, local),
        connected(local) as session,
    ):
        session.settimeout(1.0)

        def is_echoed() -> bool:
            try:
                session.sendall(b"x")
                return session.recv(1) == b"x"
            except (TimeoutError, ConnectionError):
                return False

        until(is_echoed)
        founder = nodes.homes["hub"].realm
        assert rookery("realm", "revoke", nodes.hashname("alice"), "--realm", founder).code == 0
        until(lambda: not is_echoed() and not is_echoed())  # one may just be late
