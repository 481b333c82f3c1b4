"""How fast, and how careful."""

import pytest

from rookery.link.congestion import PACKETS_MIN, PACKETS_START, ChannelCongestion, RoundTrip


def measured(*samples: float) -> RoundTrip:
    round_trip = RoundTrip(None)
    for number, sample in enumerate(samples):
        round_trip.sample(sample, number * 0.01)
    return round_trip


def test_the_first_timeout_is_a_second() -> None:
    assert RoundTrip(None).timeout == 1.0
    assert RoundTrip(None).repeat_after == 1.0


def test_an_estimate_makes_the_first_timeout_tight() -> None:
    assert RoundTrip(0.1).timeout == pytest.approx(0.3)


def test_the_timeout_follows_the_path_and_is_never_hasty() -> None:
    assert measured(*[0.001] * 50).timeout == pytest.approx(0.2)
    assert measured(*[1.0] * 50).timeout == pytest.approx(1.0, rel=0.01)
    assert measured(*[60.0] * 9).timeout == 5.0


def test_timeouts_in_a_row_double_up_to_five_seconds() -> None:
    round_trip = RoundTrip(0.1)
    timeouts = []
    for _ in range(8):
        timeouts.append(round_trip.timeout)
        round_trip.back_off()
    assert timeouts == pytest.approx([0.3, 0.6, 1.2, 2.4, 4.8, 5.0, 5.0, 5.0])


def test_a_queue_shows_when_even_the_quickest_packet_is_slow() -> None:
    assert not measured(*[0.05, 0.09] * 20).has_queue
    assert measured(*[0.05] * 20, *[0.09] * 30).has_queue


def test_a_longer_path_becomes_the_new_base() -> None:
    assert not measured(*[0.05] * 20, *[0.07] * 3000).has_queue


def test_an_answer_quicker_than_light_makes_patient() -> None:
    round_trip = measured(0.05, 0.07, 0.05, 0.07)
    before = round_trip.repeat_after
    assert not round_trip.is_too_quick(0.06)
    assert round_trip.is_too_quick(0.01)
    assert round_trip.repeat_after > before
    for _ in range(100):
        round_trip.is_too_quick(0.01)
    assert round_trip.repeat_after < 0.3


def test_it_doubles_per_round_trip_until_the_first_loss() -> None:
    pace = ChannelCongestion(2048)
    pace.arrived(PACKETS_START)
    assert pace.packets == 2 * PACKETS_START
    pace.lost(1, acked=10, sent=40, has_queue=False)
    assert pace.packets == pytest.approx(2 * PACKETS_START * 0.7)
    before = pace.packets
    pace.arrived(int(before))
    assert pace.packets == pytest.approx(before + 1, rel=0.01)


def test_a_queue_costs_once_per_round_trip() -> None:
    pace = ChannelCongestion(2048)
    pace.lost(1, acked=0, sent=32, has_queue=True)
    once = pace.packets
    pace.lost(1, acked=31, sent=60, has_queue=True)
    assert pace.packets == once - 0.5
    pace.lost(1, acked=32, sent=90, has_queue=True)
    assert pace.packets == pytest.approx((once - 0.5) * 0.7)


def test_noise_costs_half_a_packet_and_is_given_back_when_it_was_none() -> None:
    pace = ChannelCongestion(2048)
    pace.lost(1, acked=0, sent=32, has_queue=False)
    before = pace.packets
    pace.lost(2, acked=32, sent=64, has_queue=False)
    assert pace.packets == before - 1
    pace.was_hasty()
    assert pace.packets == before - 0.5


def test_it_never_stops_and_never_outgrows_the_window() -> None:
    pace = ChannelCongestion(64)
    pace.arrived(1000)
    assert pace.packets == 64
    pace.silent()
    assert pace.packets == PACKETS_MIN
    pace.lost(1000, acked=0, sent=1, has_queue=True)
    assert pace.packets == PACKETS_MIN


def test_after_silence_it_quickly_returns_to_what_was_known_to_work() -> None:
    pace = ChannelCongestion(2048)
    pace.arrived(68)
    for _ in range(10):  # timeouts in a row
        pace.silent()
    for _ in range(5):
        pace.arrived(int(pace.packets))
    assert pace.packets > 60
