"""Ports: the known ones if they are free, else others, and it is said."""

import socket

from rookery.cli.demo import ports


def test_a_port_that_is_free_is_taken_without_a_word() -> None:
    said: list[str] = []
    port = ports.free(["tcp", "udp"])
    assert ports.wanted(port, ["tcp", "udp"], "pages", said.append) == port
    assert said == []


def test_a_port_that_is_taken_is_named_and_another_one_used() -> None:
    said: list[str] = []
    with socket.create_server((ports.HOST, 0)) as server:
        port = server.getsockname()[1]
        other = ports.wanted(port, ["tcp"], "pages", said.append)
    assert other != port
    assert said == [f"port {port} (pages) is taken; using {other} instead"]


def test_a_port_must_be_free_for_all_kinds() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind((ports.HOST, 0))
        port = datagrams.getsockname()[1]
        assert not ports.is_free(port, ["tcp", "udp"])
