"""From conditions to alerts, in virtual time: once each, however often and long (F14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.fleet.alerts.alert import (
    ENTITIES_MAX,
    KEY_SIZE_MAX,
    TITLE_SIZE_MAX,
    AlertChanged,
    AlertCondition,
    AlertRaised,
    AlertResolved,
    AlertTransition,
    Severity,
)
from rookery.fleet.alerts.tracker import AlertTracker, AlertTrackerLimits

LIMITS = AlertTrackerLimits(
    raise_after_s=15, clear_after_s=30, change_s=10, open_max=5, pending_max=8
)
LOOKED_AT = ("server_full", "member_gone")


def condition(
    key: str = "one",
    severity: Severity = "warning",
    *,
    entities: tuple[str, ...] = ("server a",),
    note: str = "",
    absorbs: tuple[str, ...] = (),
    is_immediate: bool = False,
) -> AlertCondition:
    return AlertCondition(
        key=key,
        kind="server_full",
        severity=severity,
        title=f"title of {key}",
        entities=entities,
        note=note,
        absorbs=absorbs,
        is_immediate=is_immediate,
    )


def look(watch: AlertTracker, now: float, *conditions: AlertCondition) -> list[AlertTransition]:
    return watch.handle(conditions, now, LOOKED_AT)


def opened(*conditions: AlertCondition) -> AlertTracker:
    return AlertTracker(LIMITS, conditions)


def test_a_condition_that_lasts_is_raised_once_and_from_its_beginning() -> None:
    watch = AlertTracker(LIMITS)
    assert look(watch, 100, condition()) == []
    assert look(watch, 114.9, condition()) == []
    assert look(watch, 115, condition()) == [AlertRaised(condition(), 100)]
    assert [look(watch, now, condition()) for now in range(116, 400, 5)] == [[]] * 57


def test_one_that_goes_away_in_time_is_never_told() -> None:
    watch = AlertTracker(LIMITS)
    for now in range(0, 300, 14):
        assert look(watch, now, condition()) == []
        assert look(watch, now + 10) == []


def test_what_does_not_go_away_by_itself_is_told_at_once() -> None:
    now = condition(is_immediate=True)
    assert look(AlertTracker(LIMITS), 7, now) == [AlertRaised(now, 7)]


def test_it_begins_when_it_is_known_to_have_begun() -> None:
    began = AlertCondition(
        key="k", kind="server_full", severity="notice", title="t", began_at=3, is_immediate=True
    )
    assert look(AlertTracker(LIMITS), 50, began) == [AlertRaised(began, 3)]


def test_an_alert_is_over_when_it_has_been_gone_for_long_enough() -> None:
    watch = opened(condition())
    assert look(watch, 10) == []
    assert look(watch, 39) == []
    assert look(watch, 40) == [AlertResolved("one", 10)]
    assert watch.open_keys == frozenset()


def test_one_that_comes_and_goes_stays_one_alert() -> None:
    watch = opened(condition())
    for now in range(0, 1000, 25):
        assert look(watch, now) == []
        assert look(watch, now + 20, condition()) == []


def test_what_was_not_looked_at_does_not_end() -> None:
    watch = opened(condition())
    for now in range(0, 1000, 50):
        assert watch.handle((), now, ("member_gone",)) == []
    assert watch.open_keys == {"one"}


def test_getting_worse_is_told_at_once_and_other_changes_now_and_then() -> None:
    watch = opened(condition())
    grown = condition(entities=("server a", "server b"))
    assert look(watch, 0, grown) == [AlertChanged(grown, "grew")]
    noted = condition(entities=grown.entities, note="93 %")
    assert look(watch, 9, noted) == []
    assert look(watch, 10, noted) == [AlertChanged(noted, "otherwise")]
    worse = condition(severity="critical", entities=grown.entities)
    assert look(watch, 11, worse) == [AlertChanged(worse, "worse")]
    assert look(watch, 25, worse) == []
    milder = condition(entities=grown.entities)
    assert look(watch, 30, milder) == [AlertChanged(milder, "otherwise")]


def test_a_lesser_alert_becomes_part_of_a_larger_one_once_that_is_open() -> None:
    watch = opened(condition("lesser"))
    larger = condition("larger", absorbs=("lesser",))
    assert look(watch, 0, larger) == []
    assert look(watch, 14, larger) == []  # the lesser one waits, though it is not found any more
    assert look(watch, 15, larger) == [
        AlertRaised(larger, 0),
        AlertResolved("lesser", 15, "part of: title of larger"),
    ]
    assert watch.open_keys == {"larger"}


def test_there_is_a_bound_on_open_alerts_and_the_worst_come_first() -> None:
    watch = AlertTracker(LIMITS)
    mild = [condition(f"mild {each}", "notice", is_immediate=True) for each in range(6)]
    bad = [condition(f"bad {each}", "critical", is_immediate=True) for each in range(2)]
    raised = [each for each in look(watch, 0, *mild, *bad) if isinstance(each, AlertRaised)]
    assert len(raised) == LIMITS.open_max
    assert [each.condition.severity for each in raised[:3]] == ["critical", "critical", "notice"]
    assert watch.suppressed == 3


def test_there_is_a_bound_on_what_may_become_one() -> None:
    watch = AlertTracker(LIMITS)
    assert look(watch, 0, *(condition(f"{each}") for each in range(20))) == []
    assert watch.suppressed == 12


def test_nothing_is_longer_than_it_may_be_kept() -> None:
    long = AlertCondition(
        key="k" * 500,
        kind="security",
        severity="critical",
        title="t" * 500,
        cause="c" * 500,
        note="n" * 500,
        entities=("e",) * 500,
        is_immediate=True,
    )
    (raised,) = AlertTracker(LIMITS).handle([long], 0, ("security",))
    assert isinstance(raised, AlertRaised)
    kept = raised.condition
    assert (len(kept.key), len(kept.title)) == (KEY_SIZE_MAX, TITLE_SIZE_MAX)
    assert (len(kept.cause), len(kept.note)) == (TITLE_SIZE_MAX, TITLE_SIZE_MAX)
    assert len(kept.entities) == ENTITIES_MAX


@pytest.mark.parametrize("gap_s", [1, 5, 20, 60])
@given(looks=st.lists(st.sets(st.sampled_from("abcdefgh")), max_size=60))
def test_raised_and_resolved_take_turns_whatever_is_found(
    looks: list[set[str]], gap_s: float
) -> None:
    watch, is_open = AlertTracker(LIMITS), set[str]()
    for number, keys in enumerate(looks):
        for transition in look(watch, number * gap_s, *(condition(key) for key in sorted(keys))):
            match transition:
                case AlertRaised(raised):
                    assert raised.key not in is_open
                    assert raised.key in keys
                    is_open.add(raised.key)
                case AlertResolved(key):
                    assert key not in keys
                    is_open.remove(key)
        assert is_open == watch.open_keys
        assert len(is_open) <= LIMITS.open_max
