"""Routes that are passed over because nothing comes back along them."""

from rookery.mesh.routing.blackhole_relays import (
    DOUBTS_MAX,
    PASSED_OVER_S,
    PATIENCE_S,
    BlackholeRelays,
)

A, B, C, D = (bytes([number]) * 8 for number in range(1, 5))


def test_a_silent_route_is_passed_over_for_a_while() -> None:
    silence = BlackholeRelays()
    silence.unanswered((A, B, D), 10.0)
    assert silence.avoids((A, B, D))
    assert not silence.avoids((A, C, D))
    assert [doubt.route for doubt in silence.towards(D)] == [(A, B, D)]
    assert silence.towards(B) == []
    assert silence.deadline == 10.0 + PASSED_OVER_S
    silence.tick(9.9 + PASSED_OVER_S)
    assert silence.avoids((A, B, D))
    silence.tick(10.0 + PASSED_OVER_S)
    assert not silence.avoids((A, B, D))
    assert silence.deadline is None


def test_the_next_route_gets_its_time_before_it_is_doubted_too() -> None:
    silence = BlackholeRelays()
    silence.unanswered((A, B, D), 10.0)
    silence.unanswered((A, C, D), 10.1)
    assert not silence.avoids((A, C, D))
    silence.unanswered((A, C, D), 10.0 + PATIENCE_S)
    assert silence.avoids((A, C, D))


def test_other_destinations_are_not_concerned() -> None:
    silence = BlackholeRelays()
    silence.unanswered((A, B, D), 10.0)
    silence.unanswered((A, B, C), 10.0)
    assert [doubt.route for doubt in silence.towards(C)] == [(A, B, C)]


def test_a_link_of_our_own_is_watched_by_others() -> None:
    silence = BlackholeRelays()
    silence.unanswered((A, D), 10.0)
    assert not silence.avoids((A, D))


def test_what_is_remembered_is_bounded() -> None:
    silence = BlackholeRelays()
    for number in range(2 * DOUBTS_MAX):
        silence.unanswered((A, B, number.to_bytes(8)), float(number))
    assert (
        sum(silence.avoids((A, B, number.to_bytes(8))) for number in range(2 * DOUBTS_MAX))
        == DOUBTS_MAX
    )


def test_every_relay_of_the_route_is_passed_over_on_ways_to_that_destination() -> None:
    silence = BlackholeRelays()
    silence.failed((A, B, C, D), "three probes lost", 10.0)
    assert silence.avoids((A, B, C, D)) == 2
    assert silence.avoids((A, C, B, D)) == 2
    assert silence.avoids((A, C, D)) == 1
    assert silence.avoids((A, D, C)) == 0
    assert {doubt.reason for doubt in silence.towards(D)} == {"three probes lost"}


def test_each_time_it_happens_again_it_lasts_twice_as_long() -> None:
    silence, now, lasted = BlackholeRelays(), 0.0, []
    for _ in range(7):
        silence.failed((A, B, D), "lost", now)
        assert silence.deadline is not None
        lasted.append(silence.deadline - now)
        now = silence.deadline
        silence.tick(now)
        assert not silence.avoids((A, B, D))
    assert lasted == [60, 120, 240, 480, 960, 960, 960]


def test_what_has_another_explanation_is_forgiven() -> None:
    silence = BlackholeRelays()
    silence.failed((A, B, D), "lost", 10.0)
    silence.forgive(D, (A, B, D))
    assert not silence.avoids((A, B, D))
    silence.failed((A, B, D), "lost", 20.0)
    assert silence.deadline == 20.0 + PASSED_OVER_S
