"""M2, R7: the numbers of one path and the cost made of them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import ProtocolError
from rookery.mesh.quality.path_quality import COST_MAX, HOP_US, WINDOW_S, PathQuality, StreamMeasure
from rookery.wire.mesh.ping import PingReport


def trip(quality: PathQuality, sequence: int, rtt_s: float, now: float = 0.0) -> float | None:
    """A ping that was answered at once."""
    quality.sent(sequence, now)
    return quality.answered(sequence, 5_000, 5_000, now + rtt_s)


def measured(*rtts_s: float) -> PathQuality:
    quality = PathQuality()
    for sequence, rtt_s in enumerate(rtts_s, 1):
        trip(quality, sequence, rtt_s, float(sequence))
    return quality


def steady(rtt_s: float = 0.04) -> PathQuality:
    return measured(*[rtt_s] * 60)


def cost(quality: PathQuality, now: float = 61.0, offset_us: int = 0, advice: float = 1.0) -> int:
    cost_us = quality.cost_us(now, offset_us, advice)
    assert cost_us is not None
    return cost_us


# --- round trips ---


@given(
    offset_us=st.integers(0, 2**60),
    out_s=st.floats(0.0, 5.0),
    holding_s=st.floats(0.0, 0.02),
    back_s=st.floats(0.0, 5.0),
)
def test_the_round_trip_needs_no_common_clock(
    offset_us: int, out_s: float, holding_s: float, back_s: float
) -> None:
    """M2: holding a ping makes its round trip no longer, whatever the far clock shows."""
    quality = PathQuality()
    trip(quality, 1, out_s + back_s, 60.0)
    rtt_s = claimed(quality, out_s + holding_s + back_s, holding_s, offset_us + int(out_s * 1e6))
    assert rtt_s == pytest.approx(max(out_s + back_s, 1e-6), abs=3e-6)


def claimed(
    quality: PathQuality, elapsed_s: float, holding_s: float, received_us: int = 5_000
) -> float | None:
    """The round trip to a peer that says how long it held the ping."""
    quality.sent(2, 100.0)
    replied_us = received_us + int(holding_s * 1e6)
    return quality.answered(2, received_us, replied_us, 100.0 + elapsed_s)


def test_a_peer_cannot_claim_to_be_near() -> None:
    """120 ms away, it says that it held each ping for 19 of them, or for 119."""
    for holding_s in (0.019, 0.119):
        quality = PathQuality()
        for _ in range(60):
            assert claimed(quality, 0.120, holding_s) == pytest.approx(0.120)
        assert quality.disbelieved_s == pytest.approx(holding_s, rel=0.01)


def test_what_a_peer_held_now_and_then_is_believed_up_to_a_bound() -> None:
    quality = PathQuality()
    trip(quality, 1, 0.05, 99.0)
    assert claimed(quality, 0.065, 0.015) == pytest.approx(0.05)
    assert claimed(quality, 0.150, 0.100) == pytest.approx(0.13)
    assert trip(quality, 3, 0.05, 101.0) == pytest.approx(0.05)
    assert quality.disbelieved_s < 0.01


def test_no_round_trip_is_shorter_than_the_streams_own() -> None:
    """Not even where the peer knew when to answer, and did before it was asked."""
    quality = PathQuality()
    measure = StreamMeasure(0.125, 0.001, 10, 0, None, is_app_limited=True, rtt_min_s=0.118)
    quality.stream_measured(measure, 0.0)
    assert claimed(quality, 0.001, 0.0) == pytest.approx(0.118)
    quality.stream_measured(msgspec.structs.replace(measure, rtt_min_s=0.110), 1.0)
    assert claimed(quality, 0.111, 0.0) == pytest.approx(0.111)


@pytest.mark.parametrize(
    ("received_us", "replied_us"),
    [
        pytest.param(9_000_000, 1_000_000, id="stepped back"),
        pytest.param(1_000_000, 9_000_000, id="stepped forward"),
        pytest.param(0, 2**64 - 1, id="absurd"),
    ],
)
def test_a_clock_that_steps_at_the_far_end_spoils_no_number(
    received_us: int, replied_us: int
) -> None:
    quality = steady()
    before = (quality.srtt_s, quality.rttvar_s, quality.rtt_min_s(61.0))
    quality.sent(61, 61.0)
    assert quality.answered(61, received_us, replied_us, 61.05) is None
    assert (quality.srtt_s, quality.rttvar_s, quality.rtt_min_s(61.0)) == before
    assert quality.discarded == 1


def test_a_round_trip_of_minutes_is_a_clock_gone_wrong() -> None:
    quality = PathQuality()
    quality.sent(1, 0.0)
    assert quality.answered(1, 0, 0, 61.0) is None
    assert quality.discarded == 1


def test_a_beat_is_answered_once() -> None:
    quality = PathQuality()
    quality.sent(1, 0.0)
    assert quality.answered(1, 0, 0, 0.1) == pytest.approx(0.1)
    assert quality.answered(1, 0, 0, 5.0) is None
    assert quality.answered(2, 0, 0, 5.0) is None
    assert quality.srtt_s == pytest.approx(0.1)


def test_answers_to_pings_long_gone_are_forgotten() -> None:
    quality = PathQuality()
    for sequence in range(1, 66):
        quality.sent(sequence, float(sequence))
    assert quality.answered(1, 0, 0, 60.0) is None
    assert quality.answered(2, 0, 0, 60.0) == pytest.approx(58.0)


def test_smoothing_as_everybody_does_it() -> None:
    quality = measured(0.1, 0.2)
    assert quality.srtt_s == pytest.approx(0.1 + 0.1 / 8)
    assert quality.rttvar_s == pytest.approx(0.05 + (0.1 - 0.05) / 4)
    assert quality.jitter_s == pytest.approx(0.1 / 16)


def test_the_minimum_is_of_the_last_minute() -> None:
    quality = measured(0.05, 0.02, 0.03)
    assert quality.rtt_min_s(3.0) == pytest.approx(0.02)
    trip(quality, 4, 0.04, 4.0)
    assert quality.rtt_min_s(2.5 + WINDOW_S) == pytest.approx(0.03)
    assert quality.rtt_min_s(1e6) == pytest.approx(0.04), "the last one is better than none"


def test_patience_grows_with_the_round_trip() -> None:
    assert PathQuality().patience_s == 1.0
    assert steady(0.01).patience_s == 0.5
    assert steady(1.0).patience_s == pytest.approx(1.0, abs=0.01)
    assert steady(30.0).patience_s == 4.0


# --- loss ---


def test_loss_out_is_what_the_peer_did_not_hear() -> None:
    """M2"""
    quality = PathQuality()
    for sequence in range(1, 11):
        quality.sent(sequence, float(sequence))
    quality.report_received(PingReport(10, 0b1111101111), 0, 10.1, is_limited=False)
    assert quality.loss_out == pytest.approx(0.1)
    assert quality.loss_in(10.1) == 0


def test_loss_out_grows_when_reports_come_but_nothing_new_is_heard() -> None:
    """M2: our direction is cut, the peer's is not."""
    quality = PathQuality()
    for sequence in range(1, 5):
        quality.sent(sequence, float(sequence))
    quality.report_received(PingReport(2, 0b11), 0, 9.0, is_limited=False)
    assert quality.loss_out == pytest.approx(0.5)
    assert quality.loss_in(9.0) == 0


def test_what_is_still_under_way_is_not_lost() -> None:
    quality = PathQuality()
    quality.sent(1, 1.0)
    quality.sent(2, 2.0)
    quality.report_received(PingReport(1, 1), 0, 2.1, is_limited=False)
    assert quality.loss_out == 0


def test_pings_before_the_peer_was_there_are_not_lost() -> None:
    quality = PathQuality()
    for sequence in range(1, 5):
        quality.sent(sequence, float(sequence))
    quality.report_received(PingReport(4, 0b11), 0, 4.1, is_limited=False)
    assert quality.loss_out == 0


def test_a_direction_that_never_worked_is_all_loss() -> None:
    quality = PathQuality()
    quality.report_received(PingReport(), 0, 0.5, is_limited=False)
    assert quality.loss_out == 0
    quality.sent(1, 1.0)
    quality.report_received(PingReport(), 0, 9.0, is_limited=False)
    assert quality.loss_out == 1


def test_loss_in_is_gaps_and_silence() -> None:
    """M2: the peer promised a ping each second."""
    quality = PathQuality()
    for sequence in (1, 2, 4):
        quality.ping_received(sequence, 1, float(sequence))
    assert quality.loss_in(4.5) == 0.25
    assert quality.loss_in(8.6) == pytest.approx(5 / 8)
    assert quality.loss_out == 0


def test_an_idle_peer_is_not_lossy() -> None:
    quality = PathQuality()
    quality.ping_received(1, 15, 0.0)
    assert quality.loss_in(20.0) == 0
    assert quality.loss_in(23.0) == 0.5
    quality.ping_received(2, 0, 23.0)
    assert quality.loss_in(1000.0) == 0, "who promises nothing owes nothing"


def test_nobody_can_have_heard_what_was_never_sent() -> None:
    quality = PathQuality()
    quality.sent(1, 0.0)
    with pytest.raises(ProtocolError, match="never sent"):
        quality.report_received(PingReport(2, 1), 0, 0.1, is_limited=False)


def test_the_report_tells_what_came() -> None:
    quality = PathQuality()
    quality.received_size = 99
    assert quality.report == PingReport(0, 0, 99)
    quality.ping_received(1, 1, 0.0)
    quality.ping_received(3, 1, 2.0)
    assert quality.report == PingReport(3, 0b101, 99)


def stream(segments: int, retransmits: int, rate: float | None = None) -> StreamMeasure:
    return StreamMeasure(0.03, 0.001, segments, retransmits, rate, is_app_limited=False)


def test_repeated_segments_are_losses_that_a_stream_hides() -> None:
    quality = PathQuality()
    quality.stream_measured(stream(100, 7), 0.0)
    assert quality.loss_out == 0, "what was before is not known"
    quality.stream_measured(stream(200, 27), 1.0)
    assert quality.loss_out == pytest.approx(0.05)
    quality.stream_measured(stream(200, 27), 2.0)
    assert quality.loss_out == pytest.approx(0.05), "nothing sent, nothing learnt"


# --- rate ---


def deliver(quality: PathQuality, steps: list[tuple[float, int]], *, is_limited: bool) -> None:
    for at_s, size in steps:
        report = PingReport(received_size=size)
        quality.report_received(report, int(at_s * 1e6), at_s, is_limited=is_limited)


def test_the_rate_is_what_arrived_while_there_was_more_to_send() -> None:
    """M2"""
    quality = PathQuality()
    deliver(quality, [(0.0, 0), (1.0, 1000), (2.0, 6000), (3.0, 8000)], is_limited=True)
    assert quality.rate(3.0) == pytest.approx(5000), "the most of them"
    assert quality.rate(2.5 + WINDOW_S) == pytest.approx(2000)
    assert quality.rate(1e9) == pytest.approx(2000), "the last one is better than none"


def test_an_idle_path_is_not_a_slow_path() -> None:
    """R7: while there is little to send, the rate stays unknown, or as it was."""
    quality = PathQuality()
    deliver(quality, [(0.0, 0), (1.0, 100), (2.0, 200)], is_limited=False)
    assert quality.rate(2.0) is None
    deliver(quality, [(3.0, 1000), (4.0, 5000)], is_limited=True)
    assert quality.rate(4.0) == pytest.approx(4000)
    deliver(quality, [(5.0, 5100)], is_limited=False)
    assert quality.rate(5.0) == pytest.approx(4000)
    deliver(quality, [(6.0, 15_100)], is_limited=False)
    assert quality.rate(6.0) == pytest.approx(10_000), "it can do at least what it did"


def test_reports_too_close_too_far_or_backwards_measure_nothing() -> None:
    quality = PathQuality()
    deliver(quality, [(0.0, 0), (0.1, 10_000)], is_limited=True)
    assert quality.rate(0.1) is None, "a burst of two reports is no interval"
    deliver(quality, [(100.0, 20_000), (50.0, 30_000), (51.0, 20_000)], is_limited=True)
    assert quality.rate(100.0) is None


def test_the_system_knows_the_rate_of_a_stream() -> None:
    quality = PathQuality()
    quality.stream_measured(StreamMeasure(0.03, 0.0, 1, 0, 1e6, is_app_limited=True), 0.0)
    assert quality.rate(0.0) is None
    quality.stream_measured(StreamMeasure(0.03, 0.0, 2, 0, 1e6, is_app_limited=False), 0.0)
    assert quality.rate(0.0) == 1e6


# --- cost ---


def test_there_is_no_cost_before_the_first_round_trip() -> None:
    assert PathQuality().cost_us(0.0) is None


def test_a_quiet_path_costs_half_its_round_trip_and_a_hop() -> None:
    assert cost(steady(0.04)) == pytest.approx(20_000 + HOP_US, abs=10)


def test_cost_contains_loss() -> None:
    """R7: half of the pings lost one way: each packet takes two tries on average."""
    quality = steady(0.04)
    for sequence in range(61, 93):
        quality.sent(sequence, float(sequence))
    quality.report_received(PingReport(92, 0x5555_5555), 0, 92.1, is_limited=False)
    assert quality.loss_out == pytest.approx(0.5, abs=0.02)
    assert cost(quality, 92.1) == pytest.approx(20_000 + HOP_US + 40_000, rel=0.05)


def test_cost_contains_rate() -> None:
    """R7: 16 KB at 1 MB/s take 16 ms."""
    quality = steady(0.04)
    quality.stream_measured(stream(1, 0, rate=1e6), 61.0)
    assert cost(quality) == pytest.approx(20_000 + HOP_US + 16_384, abs=10)


def test_cost_contains_the_operators_offset() -> None:
    """R7"""
    quality = steady(0.04)
    assert cost(quality, offset_us=7_000) == cost(quality) + 7_000
    assert cost(quality, offset_us=-(10**9)) == 1


def test_advice_makes_a_cost_twice_what_it_is_at_most_and_never_less() -> None:
    """P5"""
    quality = steady(0.04)
    plain = cost(quality)
    assert cost(quality, advice=1.5) == pytest.approx(plain * 1.5, abs=1)
    assert cost(quality, advice=1e9) == pytest.approx(plain * 2, abs=1)
    assert cost(quality, advice=0.1) == plain
    assert cost(quality, advice=1.5, offset_us=700) == pytest.approx(plain * 1.5 + 700, abs=1)


@given(
    rtt_s=st.floats(1e-6, 59.0),
    lost=st.integers(0, 2**32 - 1),
    rate=st.floats(1e-3, 1e12),
    offset_us=st.integers(-(2**40), 2**40),
    advice=st.floats(),
)
def test_a_cost_fits_its_field(
    rtt_s: float, lost: int, rate: float, offset_us: int, advice: float
) -> None:
    quality = measured(*[rtt_s] * 32)
    quality.report_received(PingReport(32, lost | 1 | 1 << 31), 0, 33.0, is_limited=False)
    quality.stream_measured(stream(1, 0, rate=rate), 33.0)
    assert 1 <= cost(quality, 33.0, offset_us, advice) <= COST_MAX
