"""Runs of datagrams that cross the kernel in one call (T2)."""

import socket

import pytest

from rookery.runtime.endpoint.gates.segmentation import (
    RUN_SIZE_MAX,
    SEGMENTS_MAX,
    cut_every,
    enable,
    run_length,
    segment_size,
)


@pytest.mark.parametrize(
    ("sizes", "length"),
    [
        ((7,), 1),
        ((7, 7, 7), 3),
        ((7, 7, 5), 3),
        ((7, 5, 5), 2),
        ((7, 8, 8), 1),
        ((7,) * 200, SEGMENTS_MAX),
        ((1300,) * 64, RUN_SIZE_MAX // 1300),
        ((0, 0), 2),
        ((RUN_SIZE_MAX + 1, 1), 1),
    ],
)
def test_a_run_is_of_one_size_but_for_a_shorter_last(sizes: tuple[int, ...], length: int) -> None:
    assert run_length([bytes(size) for size in sizes]) == length


def test_a_socket_that_is_not_udp_sends_no_runs() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        assert not enable(ours)


def test_a_size_that_makes_no_sense_cuts_nothing() -> None:
    [(level, _, _)] = cut_every(100)
    assert segment_size([], 900) == 900
    assert segment_size([(level, 104, b"")], 900) == 900
    assert segment_size([(level, 104, bytes(4))], 900) == 900
    assert segment_size([(socket.SOL_SOCKET, 104, b"\1\0\0\0")], 900) == 900
