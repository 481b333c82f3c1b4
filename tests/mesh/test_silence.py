"""Routes that are passed over because nothing comes back along them."""

from rookery.mesh.silence import PASSED_OVER_S, PATIENCE_S, ROUTES_MAX, Silence

A, B, C, D = (bytes([number]) * 8 for number in range(1, 5))


def test_a_silent_route_is_passed_over_for_a_while() -> None:
    silence = Silence()
    silence.unanswered((A, B, D), 10.0)
    assert silence.avoids((A, B, D))
    assert not silence.avoids((A, C, D))
    assert silence.towards(D) == [(A, B, D)]
    assert silence.towards(B) == []
    assert silence.deadline == 10.0 + PASSED_OVER_S
    silence.tick(9.9 + PASSED_OVER_S)
    assert silence.avoids((A, B, D))
    silence.tick(10.0 + PASSED_OVER_S)
    assert not silence.avoids((A, B, D))
    assert silence.deadline is None


def test_the_next_route_gets_its_time_before_it_is_doubted_too() -> None:
    silence = Silence()
    silence.unanswered((A, B, D), 10.0)
    silence.unanswered((A, C, D), 10.1)
    assert not silence.avoids((A, C, D))
    silence.unanswered((A, C, D), 10.0 + PATIENCE_S)
    assert silence.avoids((A, C, D))


def test_other_destinations_are_not_concerned() -> None:
    silence = Silence()
    silence.unanswered((A, B, D), 10.0)
    silence.unanswered((A, B, C), 10.0)
    assert silence.towards(C) == [(A, B, C)]


def test_a_link_of_our_own_is_watched_by_others() -> None:
    silence = Silence()
    silence.unanswered((A, D), 10.0)
    assert not silence.avoids((A, D))


def test_what_is_remembered_is_bounded() -> None:
    silence = Silence()
    for number in range(2 * ROUTES_MAX):
        silence.unanswered((A, B, number.to_bytes(8)), float(number))
    assert sum(silence.avoids((A, B, number.to_bytes(8))) for number in range(600)) == ROUTES_MAX
