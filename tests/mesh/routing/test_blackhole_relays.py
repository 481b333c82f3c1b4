"""Routes that are passed over because nothing comes back along them."""

from rookery.mesh.routing.blackhole_relays import (
    DOUBTS_MAX,
    PASSED_OVER_S,
    PATIENCE_S,
    BlackholeRelays,
)

A, B, C, D = (bytes([number]) * 8 for number in range(1, 5))


def test_a_silent_route_is_passed_over_for_a_while() -> None:
    blackhole_relays = BlackholeRelays()
    blackhole_relays.unanswered((A, B, D), 10.0)
    assert blackhole_relays.avoids((A, B, D))
    assert not blackhole_relays.avoids((A, C, D))
    assert [doubt.route for doubt in blackhole_relays.towards(D)] == [(A, B, D)]
    assert blackhole_relays.towards(B) == []
    assert blackhole_relays.deadline == 10.0 + PASSED_OVER_S
    blackhole_relays.tick(9.9 + PASSED_OVER_S)
    assert blackhole_relays.avoids((A, B, D))
    blackhole_relays.tick(10.0 + PASSED_OVER_S)
    assert not blackhole_relays.avoids((A, B, D))
    assert blackhole_relays.deadline is None


def test_the_next_route_gets_its_time_before_it_is_doubted_too() -> None:
    blackhole_relays = BlackholeRelays()
    blackhole_relays.unanswered((A, B, D), 10.0)
    blackhole_relays.unanswered((A, C, D), 10.1)
    assert not blackhole_relays.avoids((A, C, D))
    blackhole_relays.unanswered((A, C, D), 10.0 + PATIENCE_S)
    assert blackhole_relays.avoids((A, C, D))


def test_other_destinations_are_not_concerned() -> None:
    blackhole_relays = BlackholeRelays()
    blackhole_relays.unanswered((A, B, D), 10.0)
    blackhole_relays.unanswered((A, B, C), 10.0)
    assert [doubt.route for doubt in blackhole_relays.towards(C)] == [(A, B, C)]


def test_a_link_of_our_own_is_watched_by_others() -> None:
    blackhole_relays = BlackholeRelays()
    blackhole_relays.unanswered((A, D), 10.0)
    assert not blackhole_relays.avoids((A, D))


def test_what_is_remembered_is_bounded() -> None:
    blackhole_relays = BlackholeRelays()
    for number in range(2 * DOUBTS_MAX):
        blackhole_relays.unanswered((A, B, number.to_bytes(8)), float(number))
    assert (
        sum(blackhole_relays.avoids((A, B, number.to_bytes(8))) for number in range(2 * DOUBTS_MAX))
        == DOUBTS_MAX
    )


def test_every_relay_of_the_route_is_passed_over_on_routes_to_that_destination() -> None:
    blackhole_relays = BlackholeRelays()
    blackhole_relays.failed((A, B, C, D), "three probes lost", 10.0)
    assert blackhole_relays.avoids((A, B, C, D)) == 2
    assert blackhole_relays.avoids((A, C, B, D)) == 2
    assert blackhole_relays.avoids((A, C, D)) == 1
    assert blackhole_relays.avoids((A, D, C)) == 0
    assert {doubt.reason for doubt in blackhole_relays.towards(D)} == {"three probes lost"}


def test_each_time_it_happens_again_it_lasts_twice_as_long() -> None:
    blackhole_relays, now, lasted = BlackholeRelays(), 0.0, []
    for _ in range(7):
        blackhole_relays.failed((A, B, D), "lost", now)
        assert blackhole_relays.deadline is not None
        lasted.append(blackhole_relays.deadline - now)
        now = blackhole_relays.deadline
        blackhole_relays.tick(now)
        assert not blackhole_relays.avoids((A, B, D))
    assert lasted == [60, 120, 240, 480, 960, 960, 960]


def test_what_has_another_explanation_is_forgiven() -> None:
    blackhole_relays = BlackholeRelays()
    blackhole_relays.failed((A, B, D), "lost", 10.0)
    blackhole_relays.forgive(D, (A, B, D))
    assert not blackhole_relays.avoids((A, B, D))
    blackhole_relays.failed((A, B, D), "lost", 20.0)
    assert blackhole_relays.deadline == 20.0 + PASSED_OVER_S
