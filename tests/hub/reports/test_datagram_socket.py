"""Datagrams in batches, on whatever way the system has."""

import socket
from collections.abc import Callable, Iterator

import pytest

from rookery.hub.reports.datagram_socket import (
    BATCH_MAX,
    BatchDatagramSocket,
    HubDatagramSocket,
    Received,
    SingleDatagramSocket,
    address_text,
    datagram_socket,
    pack_address,
    unpack_address,
)
from tests.patience import PATIENCE_S

Make = Callable[[socket.socket], HubDatagramSocket]


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
        theirs.settimeout(PATIENCE_S)
        yield ours, theirs


def _read(port: HubDatagramSocket, count: int) -> Received:
    """Loopback delivers at once, but a batch has a bound."""
    datagrams, addresses = port.receive()
    while len(datagrams) < count:
        more, where = port.receive()
        assert more
        assert len(more) == len(where) <= BATCH_MAX
        datagrams += more
        addresses += where
    return datagrams, addresses


@pytest.mark.parametrize("make", [SingleDatagramSocket, BatchDatagramSocket])
def test_answers_get_to_where_datagrams_came_from(
    make: Make, sockets: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = sockets
    port = make(ours)
    sent = [bytes([index]) * (index % 7 + 1) for index in range(BATCH_MAX + 10)]
    for data in sent:
        theirs.sendto(data, ours.getsockname())
    received, addresses = _read(port, len(sent))
    assert received == sent
    assert {unpack_address(address) for address in addresses} == {theirs.getsockname()[:2]}
    assert port.receive() == ([], [])
    assert port.send([data[::-1] for data in received], addresses) == len(sent)
    assert sorted(theirs.recv(100) for _ in sent) == sorted(sent)


@pytest.mark.parametrize("make", [SingleDatagramSocket, BatchDatagramSocket])
def test_one_address_that_cannot_be_reached_does_not_hold_up_the_others(
    make: Make, sockets: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = sockets
    port = make(ours)
    here = theirs.getsockname()[:2]
    nowhere = pack_address((here[0], 0))  # port 0 is refused
    port.send([b"a", b"b", b"c"], [pack_address(here), nowhere, pack_address(here)])
    assert [theirs.recv(100), theirs.recv(100)] == [b"a", b"c"]


def test_any_number_of_sizes_can_be_sent(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    port, here = datagram_socket(ours), pack_address(theirs.getsockname()[:2])
    for size in range(1, 60):
        assert port.send([bytes(size), bytes(60 - size)], [here, here]) == 2
        assert {len(theirs.recv(100)), len(theirs.recv(100))} == {size, 60 - size}


@pytest.mark.parametrize("make", [SingleDatagramSocket, BatchDatagramSocket])
def test_datagrams_of_every_size_come_whole(
    make: Make, sockets: tuple[socket.socket, socket.socket]
) -> None:
    ours, theirs = sockets
    port = make(ours)
    for sizes in ((0, 1, 511, 512, 513, 2047, 2048), (2048, 513, 512, 511, 1, 0)):
        sent = [bytes((at * 7 + size) % 251 for at in range(size)) for size in sizes]
        for data in sent:
            theirs.sendto(data, ours.getsockname())
        assert _read(port, len(sent))[0] == sent


@pytest.mark.parametrize("make", [SingleDatagramSocket, BatchDatagramSocket])
def test_answers_of_several_sizes_go_where_they_belong(make: Make) -> None:
    """However they are put together for the system."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.bind(("127.0.0.1", 0))
        theirs = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(5)]
        for sock in theirs:
            sock.bind(("127.0.0.1", 0))
            sock.settimeout(PATIENCE_S)
        names = [pack_address(sock.getsockname()) for sock in theirs]
        answers = [bytes([index % 5]) * (index % 3 + 1) for index in range(4 * BATCH_MAX)]
        addresses = [names[index % 5] for index in range(4 * BATCH_MAX)]
        assert make(ours).send(answers, addresses) == len(answers)
        for index, sock in enumerate(theirs):
            with sock:
                own = [each for each in answers if each[0] == index]
                assert sorted(sock.recv(100) for _ in own) == sorted(own)


def test_a_datagram_that_is_too_long_is_cut(
    sockets: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = sockets
    theirs.sendto(bytes(9000), ours.getsockname())
    (data,), _ = datagram_socket(ours).receive()
    assert len(data) == 2048


@pytest.mark.parametrize("address", [("192.0.2.1", 7000), ("2001:db8::1", 65535)])
def test_addresses_come_back_as_they_were(address: tuple[str, int]) -> None:
    assert unpack_address(pack_address(address)) == address


def test_addresses_read_as_people_write_them() -> None:
    assert address_text(pack_address(("192.0.2.1", 7000))) == "192.0.2.1:7000"
    assert address_text(pack_address(("2001:db8::1", 7000))) == "[2001:db8::1]:7000"
