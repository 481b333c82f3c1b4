"""Datagrams in batches, on whatever way the system has."""

import socket
from collections.abc import Callable, Iterator

import pytest

from rookery.hub.datagram_port import (
    BATCH_MAX,
    BatchPort,
    Datagram,
    DatagramPort,
    SinglePort,
    address_text,
    datagram_port,
    pack_address,
    unpack_address,
)

Make = Callable[[socket.socket], DatagramPort]


@pytest.fixture(params=["127.0.0.1", "::1"])
def sockets(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    with (
        socket.socket(family, socket.SOCK_DGRAM) as ours,
        socket.socket(family, socket.SOCK_DGRAM) as theirs,
    ):
        for sock in (ours, theirs):
            sock.bind((request.param, 0))
        ours.setblocking(False)
        theirs.settimeout(5.0)
        yield ours, theirs


def _read(port: DatagramPort, count: int) -> list[Datagram]:
    """Loopback delivers at once, but a batch has a bound."""
    datagrams: list[Datagram] = []
    while len(datagrams) < count and (more := port.receive()):
        datagrams += more
    return datagrams


@pytest.mark.parametrize("make", [SinglePort, BatchPort])
def test_answers_get_to_where_datagrams_came_from(
    make: Make, sockets: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = sockets
    port = make(ours)
    sent = [bytes([index]) * (index % 7 + 1) for index in range(BATCH_MAX + 10)]
    for data in sent:
        theirs.sendto(data, ours.getsockname())
    received = _read(port, len(sent))
    assert [data for data, _ in received] == sent
    assert port.receive() == []
    assert port.send([(data[::-1], address) for data, address in received]) == len(sent)
    assert sorted(theirs.recv(100) for _ in sent) == sorted(sent)


@pytest.mark.parametrize("make", [SinglePort, BatchPort])
def test_one_address_that_cannot_be_reached_does_not_hold_up_the_others(
    make: Make, sockets: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = sockets
    port = make(ours)
    here = theirs.getsockname()[:2]
    nowhere = pack_address((here[0], 0))  # port 0 is refused
    port.send([(b"a", pack_address(here)), (b"b", nowhere), (b"c", pack_address(here))])
    assert [theirs.recv(100), theirs.recv(100)] == [b"a", b"c"]


def test_any_number_of_sizes_can_be_sent(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    port, here = datagram_port(ours), pack_address(theirs.getsockname()[:2])
    for size in range(1, 60):
        assert port.send([(bytes(size), here), (bytes(60 - size), here)]) == 2
        assert {len(theirs.recv(100)), len(theirs.recv(100))} == {size, 60 - size}


def test_a_datagram_that_is_too_long_is_cut(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    theirs.sendto(bytes(9000), ours.getsockname())
    ((data, _),) = datagram_port(ours).receive()
    assert len(data) == 2048


@pytest.mark.parametrize("address", [("192.0.2.1", 7000), ("2001:db8::1", 65535)])
def test_addresses_come_back_as_they_were(address: tuple[str, int]) -> None:
    assert unpack_address(pack_address(address)) == address


def test_addresses_read_as_people_write_them() -> None:
    assert address_text(pack_address(("192.0.2.1", 7000))) == "192.0.2.1:7000"
    assert address_text(pack_address(("2001:db8::1", 7000))) == "[2001:db8::1]:7000"
