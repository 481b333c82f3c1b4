"""M4: windows."""

from rookery.mesh.tunnel.limits import WINDOW_START
from rookery.mesh.tunnel.streams.flow_control import ReceiveWindow

CAP = 16 * WINDOW_START


def test_nothing_is_told_until_a_quarter_of_the_window_was_read() -> None:
    window = ReceiveWindow(CAP, 0.0)
    window.consumed = WINDOW_START // 4 - 1
    assert not window.is_due()
    window.consumed += 1
    assert window.is_due()
    assert window.tell(1.0, 0.1) == WINDOW_START + WINDOW_START // 4
    assert not window.is_due()


def test_a_quick_reader_gets_twice_what_it_reads_in_a_round_trip() -> None:
    """M4: 2 × rate × RTT, doubling at most, up to the cap."""
    window, now = ReceiveWindow(CAP, 0.0), 0.0
    for _ in range(12):
        now += 0.1
        window.consumed = window.maximum
        window.tell(now, 0.1)
    assert window.size == CAP


def test_a_reader_of_a_steady_rate_gets_no_more_than_it_needs() -> None:
    window = ReceiveWindow(CAP, 0.0)
    for step in range(1, 40):
        window.consumed += 1_000_000  # 10 MB/s
        window.tell(step * 0.1, 0.1)
    assert window.size == 2_000_000


def test_a_slow_reader_gets_no_more() -> None:
    window = ReceiveWindow(CAP, 0.0)
    for step in range(1, 40):
        window.consumed += 1000
        window.tell(step * 0.1, 0.1)
    assert window.size == WINDOW_START


def test_what_is_held_for_one_stream_is_granted_to_the_others_up_to_the_cap() -> None:
    window = ReceiveWindow(CAP, 0.0)
    assert window.is_due(held=WINDOW_START // 4)
    assert window.tell(0.0, 0.1, held=500) == WINDOW_START + 500
    assert window.tell(0.0, 0.1, held=CAP) == CAP
    assert window.tell(0.0, 0.1) == CAP
