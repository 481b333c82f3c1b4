"""One endpoint for all tests of a worker: bob serves everything there is, to everybody."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest

from tests.cli.program import rookery, running


class Bob(NamedTuple):
    folder: Path  # his keys
    link: Path  # a file that holds his JSON link
    echo_port: int  # of a TCP server that only he may be asked to connect to


@pytest.fixture(scope="session")
def echo_port() -> Iterator[int]:
    """A plain TCP server that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=_echo, args=[server], daemon=True).start()
        yield server.getsockname()[1]


def _echo(server: socket.socket) -> None:
    with suppress(OSError):  # the test session is over
        while True:
            connection, _ = server.accept()
            with connection:
                while data := connection.recv(4096):
                    connection.sendall(data)


@pytest.fixture(scope="session")
def bob(tmp_path_factory: pytest.TempPathFactory, echo_port: int) -> Iterator[Bob]:
    home = tmp_path_factory.mktemp("bob")
    (home / "site").mkdir()
    (home / "site" / "hello.txt").write_text("hello from bob\n")
    (home / "site" / "noise.bin").write_bytes(b"\xff\x00\xfe")
    assert rookery("id", "new", "bob", cwd=home).code == 0
    rule = f"tcp 127.0.0.1:{echo_port}"
    options = ["--accept", "all", "--router", "--thtp", "site", "--sock", rule, "--box", "--echo"]
    listen = ["--udp", "127.0.0.1:0", "--tcp", "127.0.0.1:0"]
    with running("endpoint", "--id", "bob", *listen, *options, cwd=home) as endpoint:
        link = home / "bob.link"
        link.write_text(endpoint.line())
        yield Bob(home / "bob", link, echo_port)
