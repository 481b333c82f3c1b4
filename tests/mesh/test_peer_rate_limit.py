"""Answers are rationed by neighbour."""

from rookery.mesh.rate_limit import PeerRateLimit


def node(number: int) -> bytes:
    return number.to_bytes(8, "big")


def test_a_burst_is_allowed_and_then_so_many_a_second() -> None:
    answers = PeerRateLimit(per_s=10.0, burst=3.0)
    assert [answers.allow(node(1), 0.0) for _ in range(4)] == [True, True, True, False]
    assert not answers.allow(node(1), 0.05)
    assert answers.allow(node(1), 0.15)
    assert not answers.allow(node(1), 0.15)


def test_a_long_silence_saves_no_more_than_a_burst() -> None:
    answers = PeerRateLimit(per_s=10.0, burst=2.0)
    assert answers.allow(node(1), 0.0)
    assert [answers.allow(node(1), 1e6) for _ in range(3)] == [True, True, False]


def test_one_neighbour_cannot_use_up_the_answers_of_another() -> None:
    answers = PeerRateLimit(per_s=1.0, burst=1.0)
    assert answers.allow(node(1), 0.0)
    assert not answers.allow(node(1), 0.0)
    assert answers.allow(node(2), 0.0)


def test_a_neighbour_that_is_forgotten_starts_anew() -> None:
    answers = PeerRateLimit(per_s=1.0, burst=1.0)
    assert answers.allow(node(1), 0.0)
    answers.forget(node(1))
    answers.forget(node(2))
    assert answers.allow(node(1), 0.0)


def test_of_too_many_neighbours_the_one_heard_of_longest_ago_is_forgotten() -> None:
    answers = PeerRateLimit(per_s=0.0, burst=1.0)
    for number in range(1025):
        assert answers.allow(node(number), 0.0)
    assert not answers.allow(node(1), 0.0)
    assert answers.allow(node(0), 0.0)
