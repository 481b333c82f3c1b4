"""When a link speaks unasked."""

import pytest

from rookery.link.session.handshake_schedule import (
    GIVE_UP_AFTER_S,
    KEEPALIVE_S,
    REDIAL_S_MAX,
    REDIAL_S_MIN,
    HandshakeSchedule,
    HandshakeStep,
)


def steps(rounds: HandshakeSchedule, *, is_answered: bool) -> list[tuple[float, HandshakeStep]]:
    """Follow the deadlines of the round that runs."""
    taken = []
    while rounds.is_running:
        now = rounds.deadline
        assert now is not None
        step = rounds.step(now, is_answered=is_answered)
        assert step is not None
        taken.append((now, step))
    return taken


def test_an_unanswered_round_is_repeated_and_given_up() -> None:
    """T2: after 1, 3, 7, 15 and 30 seconds."""
    rounds = HandshakeSchedule()
    rounds.begin(100.0, 0.5)
    assert rounds.step(100.9, is_answered=False) is None
    assert steps(rounds, is_answered=False) == [
        (101.0, HandshakeStep.REPEAT),
        (103.0, HandshakeStep.REPEAT),
        (107.0, HandshakeStep.REPEAT),
        (115.0, HandshakeStep.REPEAT),
        (100.0 + GIVE_UP_AFTER_S, HandshakeStep.GIVE_UP),
    ]


def test_once_answered_the_other_paths_get_two_more_tries() -> None:
    rounds = HandshakeSchedule()
    rounds.begin(0.0, 0.5)
    assert steps(rounds, is_answered=True) == [
        (1.0, HandshakeStep.REPEAT),
        (3.0, HandshakeStep.REPEAT),
        (7.0, HandshakeStep.SETTLE),
    ]


def test_an_answer_at_the_last_moment_counts() -> None:
    rounds = HandshakeSchedule()
    rounds.begin(0.0, 0.5)
    for time in (1.0, 3.0, 7.0, 15.0):
        rounds.step(time, is_answered=False)
    assert rounds.step(30.0, is_answered=True) is HandshakeStep.SETTLE


@pytest.mark.parametrize("jitter", [0.0, 1.0])
def test_a_keepalive_follows_a_round_within_half_a_minute(jitter: float) -> None:
    """T7: what NATs and the public peers expect."""
    rounds = HandshakeSchedule()
    rounds.begin(0.0, jitter)
    rounds.end()
    assert rounds.deadline is not None
    assert KEEPALIVE_S <= rounds.deadline <= 30.0
    assert not rounds.is_keepalive_due(KEEPALIVE_S - 0.1)
    assert rounds.is_keepalive_due(30.0)


def test_no_round_begins_while_one_runs() -> None:
    rounds = HandshakeSchedule()
    rounds.begin(0.0, 0.0)
    assert not rounds.is_keepalive_due(29.0)


def test_a_hastened_round_keeps_its_distance() -> None:
    rounds = HandshakeSchedule()
    rounds.hasten(0.0)
    assert rounds.deadline is None
    rounds.begin(0.0, 0.0)
    rounds.end()
    rounds.hasten(0.2)
    assert rounds.deadline == 1.0
    rounds.hasten(5.0)
    assert rounds.deadline == 1.0


def test_redials_back_off_and_start_over_once_up() -> None:
    rounds = HandshakeSchedule()
    waits, now = [], 0.0
    for _ in range(12):
        rounds.down(now, 0.5, redial=True)
        assert rounds.deadline is not None
        assert not rounds.is_redial_due(rounds.deadline - 0.01)
        assert rounds.is_redial_due(rounds.deadline)
        waits.append(rounds.deadline - now)
        now = rounds.deadline
    assert waits[:4] == pytest.approx([1, 2, 4, 8])
    assert waits[-1] == pytest.approx(REDIAL_S_MAX)
    rounds.up()
    rounds.down(now, 0.5, redial=True)
    assert rounds.deadline == pytest.approx(now + REDIAL_S_MIN)


def test_an_unwanted_link_is_silent() -> None:
    rounds = HandshakeSchedule()
    rounds.begin(0.0, 0.5)
    rounds.down(3.0, 0.5, redial=False)
    assert rounds.deadline is None
    assert not rounds.is_running
