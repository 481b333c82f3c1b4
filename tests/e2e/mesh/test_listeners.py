"""M7, M8, M9: listeners of a running node, whose exit nobody can dial and only relays lead to.

    alice ── east, west ── north, south ── bob ── pages, echoes, names, a serial line

Three links and two relays lie between a listener and its exit. Every verb is a process; what is
behind the exit listens in this one.
"""

import os
import pty
import signal
import socket
import socketserver
import tty
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from rookery.link.channels.sock import SockAddress
from rookery.mesh.proxy.socks import SocksCommand, datagram, parse_datagram
from rookery.wire.link.lob import JsonObject
from tests.cli.program import Outcome, Running, rookery, running
from tests.e2e.mesh.colony import Colony, exits, port_in, two_relays_apart, until
from tests.e2e.mesh.destinations import (
    LOCAL,
    PAGE,
    DatagramEchoes,
    Echoes,
    Letters,
    Names,
    Pages,
    QuietServer,
    SecurePages,
    associated,
    connected,
    curl,
    query,
    received,
    refuses,
    serving,
)
from tests.patience import PATIENCE_S
from tests.ports import free_port
from tests.runtime.certificate import self_signed

pytestmark = pytest.mark.xdist_group("doors")  # one world for all

BOTH = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]


class World(NamedTuple):
    colony: Colony
    certificate: Path  # of the secure pages
    pages: int  # ports of what is behind bob
    secure: int
    echoes: int
    letters: int
    datagrams: int
    names: int
    forbidden: int  # listens, but no rule of bob's knows it
    closed: int  # a rule knows it, but nobody listens
    bound: int  # where bob may listen for others
    line: int  # the other end of bob's serial line

    def ask(self, verb: str, *arguments: str) -> Outcome:
        return self.colony.ask("alice", verb, *arguments)

    def listener(self, verb: str, *arguments: str) -> AbstractContextManager[tuple[Running, int]]:
        """A listener of alice's, and the port it listens on."""
        return self.colony.listener("alice", verb, *arguments)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("doors")
    certificate, key = self_signed(folder)
    with ExitStack() as stack:
        line, far = pty.openpty()
        tty.setraw(far)
        stack.callback(os.close, line)
        stack.callback(os.close, far)
        pages = serving(stack, ThreadingHTTPServer(LOCAL, Pages))
        secure = serving(stack, SecurePages(certificate, key))
        echoes = serving(stack, QuietServer(LOCAL, Echoes))
        letters = serving(stack, QuietServer(LOCAL, Letters))
        datagrams = serving(stack, socketserver.UDPServer(LOCAL, DatagramEchoes))
        names = serving(stack, socketserver.UDPServer(LOCAL, Names))
        forbidden = serving(stack, ThreadingHTTPServer(LOCAL, Pages))
        closed, bound = free_port(), free_port()
        rules = exits(
            *(f"tcp 127.0.0.1:{port}" for port in (pages, secure, echoes, letters, closed)),
            *(f"udp 127.0.0.1:{port}" for port in (datagrams, names)),
            f"bind tcp 127.0.0.1:{bound}",
            "serial meter",
        )
        device = f"meter={os.ttyname(far)}"
        nodes = stack.enter_context(two_relays_apart(folder, *rules, "--device", device))
        yield World(
            nodes,
            certificate,
            pages,
            secure,
            echoes,
            letters,
            datagrams,
            names,
            forbidden,
            closed,
            bound,
            line,
        )
        assert {len(relays) for relays in nodes.relays("alice", "bob")} == {2}  # to the last


def test_https_through_both_doors(world: World) -> None:
    """The certificate is checked by curl: the session is the program's own, end to end."""
    page, trusted = f"https://127.0.0.1:{world.secure}/", str(world.certificate)
    with world.listener("socks", *BOTH, "--exit", "bob") as (listener, socks):
        http = port_in(listener.line())
        for proxy in (f"socks5h://127.0.0.1:{socks}", f"http://127.0.0.1:{http}"):
            assert curl("--cacert", trusted, "--proxy", proxy, page).stdout == PAGE
            untrusted = curl("--proxy", proxy, page)
            assert (untrusted.returncode, untrusted.stdout) == (60, b"")


def test_a_name_is_looked_up_by_datagrams_through_socks(world: World) -> None:
    """DNS over UDP ASSOCIATE; what no rule allows gets no answer."""
    server = SockAddress("127.0.0.1", world.names)
    with world.listener("socks", "--listen", "127.0.0.1:0", "--exit", "bob") as (_, port):
        session, relay = associated(port)
        with session, relay:
            relay.send(
                datagram(SockAddress("127.0.0.1", world.forbidden), query(1, b"rook.example"))
            )
            for number, name in ((2, b"rook.example"), (3, b"nobody.example")):
                relay.send(datagram(server, query(number, name)))
                source, answer = parse_datagram(relay.recv(1000))
                assert (source, answer[:2]) == (server, number.to_bytes(2, "big"))
                is_known = number == 2
                assert answer.endswith(bytes([192, 0, 2, 42])) is is_known
                assert answer[3] & 15 == (0 if is_known else 3)


def test_a_program_waits_for_a_connection_at_the_exit(world: World) -> None:
    """BIND: who connects over there is handed to the client here."""
    with (
        world.listener("socks", "--listen", "127.0.0.1:0", "--exit", "bob") as (_, port),
        connected(port) as session,
    ):
        session.sendall(b"\5\1\0" + bytes([5, SocksCommand.BIND, 0, 1, 0, 0, 0, 0, 0, 0]))
        answer = received(session, 12)
        assert answer[2:4] == b"\5\0"
        assert int.from_bytes(answer[10:], "big") == world.bound
        with connected(world.bound) as visitor:
            assert received(session, 10)[:2] == b"\5\0"
            visitor.sendall(b"knock")
            assert received(session, 5) == b"knock"
            session.sendall(b"come in")
            assert received(visitor, 7) == b"come in"


def test_curl_gets_out_by_socks(world: World) -> None:
    with world.listener("socks", "--listen", "127.0.0.1:0", "--exit", "bob") as (_, port):
        page = f"http://127.0.0.1:{world.pages}/"
        assert curl("--proxy", f"socks5h://127.0.0.1:{port}", page).stdout == PAGE


def test_curl_gets_out_by_http_connect_and_any_exit(world: World) -> None:
    """The exits tell the realm what they offer."""
    with world.listener("socks", *BOTH, "--exit", "auto") as (listener, _):
        http = listener.line()
        assert http.startswith("HTTP CONNECT on 127.0.0.1:")
        proxy = f"http://{http.split()[3].rstrip(',')}"
        page = f"http://127.0.0.1:{world.pages}/"

        def is_through() -> bool:  # bob's record may still be on its way
            return curl("--proxytunnel", "--proxy", proxy, page).stdout == PAGE

        until(is_through)


def test_what_no_rule_allows_is_refused_and_said(world: World) -> None:
    page = f"http://127.0.0.1:{world.forbidden}/"
    with world.listener("socks", *BOTH, "--exit", "bob") as (listener, port):
        http = listener.line().split()[3].rstrip(",")
        by_socks = curl("--proxy", f"socks5h://127.0.0.1:{port}", page)
        assert (by_socks.returncode, by_socks.stdout) == (97, b"")
        trouble = listener.error_line()
        assert f"127.0.0.1:{world.forbidden}: no rule allows it, through bob" in trouble
        assert "--exit RULE" in trouble
        by_http = curl("--proxytunnel", "--proxy", f"http://{http}", page)
        assert b"403" in by_http.stderr


def test_a_port_that_nobody_listens_on_is_told_from_a_forbidden_one(world: World) -> None:
    page = f"http://127.0.0.1:{world.closed}/"
    with world.listener("socks", *BOTH, "--exit", "bob") as (listener, socks):
        http = port_in(listener.line())
        by_socks = curl("--proxy", f"socks5h://127.0.0.1:{socks}", page)
        assert b"(5)" in by_socks.stderr
        by_http = curl("--proxytunnel", "--proxy", f"http://127.0.0.1:{http}", page)
        assert b"502" in by_http.stderr
        assert f"127.0.0.1:{world.closed}: refused, through bob" in listener.error_line()


def test_the_end_of_one_direction_is_passed_on_alone_and_a_reset_as_a_reset(world: World) -> None:
    with world.listener("forward", f"0:127.0.0.1:{world.letters}@bob") as (_, port):
        with connected(port) as session:
            session.sendall(b"rook" * 100_000)
            session.shutdown(socket.SHUT_WR)
            assert received(session, 500_000) == b"ROOK" * 100_000
        with connected(port) as session:
            session.sendall(b"tear this up")
            with pytest.raises(ConnectionResetError):
                session.recv(1)


def test_programs_read_json(world: World) -> None:
    options = ["--json", "--id", str(world.colony.homes["alice"].keys)]
    with running("forward", f"0:127.0.0.1:{world.echoes}@bob", *options) as forward:
        row: JsonObject = Outcome(0, forward.line(), "").json()
    assert (row["is"], row["kind"], row["to"]) == ("door", "tcp", f"127.0.0.1:{world.echoes}")
    assert row["exit"] == {"hashname": world.colony.hashname("bob"), "name": "bob"}
    assert isinstance(row["listening"], dict)
    assert row["listening"]["host"] == "127.0.0.1"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_door_closes_with_its_command(world: World, number: signal.Signals) -> None:
    with (
        world.listener("forward", f"0:127.0.0.1:{world.echoes}@bob") as (listener, port),
        connected(port) as session,
    ):
        session.sendall(b"hello")
        assert received(session, 5) == b"hello"
        listener.signal(number)
        assert listener.wait() == (0 if number is signal.SIGINT else -signal.SIGKILL)
        until(lambda: refuses(port))


def test_datagrams_there_and_back(world: World) -> None:
    with (
        world.listener("forward", f"0:127.0.0.1:{world.datagrams}@bob", "--udp") as (_, port),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
    ):
        sock.settimeout(PATIENCE_S)
        sock.sendto(b"question", ("127.0.0.1", port))
        assert sock.recv(100) == b"question"


def test_datagrams_to_where_no_rule_allows_are_dropped_and_said(world: World) -> None:
    with (
        world.listener("forward", f"0:127.0.0.1:{world.forbidden}@bob", "--udp") as (
            listener,
            port,
        ),
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
    ):
        sock.sendto(b"question", ("127.0.0.1", port))
        assert "no rule allows it" in listener.error_line()


def test_a_port_of_the_exit_leads_here(world: World) -> None:
    forwarding = f"{world.bound}:127.0.0.1:{world.echoes}@bob"
    with world.listener("forward", forwarding, "--reverse") as (listener, port):
        assert port == world.bound
        with connected(port) as session:
            session.sendall(b"from afar")
            assert received(session, 9) == b"from afar"
        listener.signal(signal.SIGINT)
        assert listener.wait() == 0
    until(lambda: refuses(world.bound))


def test_a_serial_line_is_a_port_here(world: World) -> None:
    with (
        world.listener("forward", "0:meter@bob", "--serial") as (_, port),
        connected(port) as session,
    ):
        session.sendall(b"read\r")
        assert os.read(world.line, 100) == b"read\r"
        os.write(world.line, b"42 kWh\r")
        assert received(session, 7) == b"42 kWh\r"


def test_wrong_wishes_end_with_a_word_about_them(world: World, tmp_path: Path) -> None:
    place = f"127.0.0.1:{world.pages}"
    nobody = world.ask("forward", f"0:{place}@nobody")
    assert (nobody.code, "known: " in nobody.complaint()) == (2, True)
    taken = world.ask("forward", f"{world.pages}:{place}@bob")
    assert (taken.code, "already in use" in taken.complaint()) == (2, True)
    open_to_all = world.ask("socks", "--listen", "0.0.0.0:0", "--exit", "bob")
    assert (open_to_all.code, "password" in open_to_all.complaint()) == (2, True)
    denied = world.ask("forward", f"{world.echoes}:{place}@bob", "--reverse")
    assert denied.code == 4
    assert "--exit 'bind tcp" in denied.complaint()
    anywhere = world.ask("forward", f"0:{place}@auto", "--reverse")
    assert (anywhere.code, "name it" in anywhere.complaint()) == (2, True)
    alone = rookery("socks", "--exit", "bob", "--id", tmp_path)
    assert (alone.code, "no node is running" in alone.complaint()) == (3, True)
