"""bench/results.md: goals first and judged, a section for each part, and one replaced alone."""

import re

import pytest

from bench.figure import Figure, Goal, Missing, Row
from bench.machine import RESULTS
from bench.page import Page
from bench.part_process import Measured
from bench.parts import NAMES, PARTS, Part, unknown
from bench.table import MISSED, goal_text, table, unlined

WHERE = {"Date": "2026-11-20", "Commit": "abc1234", "Load at the start": "0.5"}
LATER = {"Date": "2026-11-21", "Commit": "def5678, with uncommitted changes"}
TUNNEL, CROW = (next(part for part in PARTS if part.name == name) for name in ("tunnel", "crow"))
MINUTES_MAX = 45


def figure(what: str, value: float, goal: Goal | None = None, unit: str = "MB/s") -> Figure:
    return Figure(what=what, value=value, unit=unit, limit=2.0, against="a peer", goal=goal)


def result(part: Part, *rows: Row, failure: str = "") -> Measured:
    return Measured(part, rows, failure, 3.0)


def sections(text: str) -> dict[str, str]:
    return {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)}


def verdicts(text: str) -> dict[str, str]:
    return {row[1]: row[-1] for row in unlined(sections(text)["Goals"])}


def whole() -> Page:
    return Page.whole(
        WHERE,
        [
            result(
                TUNNEL,
                figure("fast", 4.0, Goal(ratio_min=1.0)),
                figure("slow", 1.0, Goal(ratio_min=1.0)),
                Missing(what="lonely", against="x", why="no x | here", goal=Goal(ratio_min=1.0)),
            ),
            result(CROW, figure("early", 5.0, Goal(value_max=6.0), "ms"), figure("plain", 7.0)),
        ],
    )


def test_goals_come_first_and_say_what_is_missed() -> None:
    text = str(whole())
    assert list(sections(text))[1:] == ["Goals", "Tunnels", "Crow"]
    assert verdicts(text) == {
        "fast": "met",
        "slow": MISSED,
        "lonely": "not measured",
        "early": "met",
    }
    assert "2 met, 1 missed, 1 not measured." in text
    assert "- Commit: abc1234" in text


def test_a_section_has_the_ratio_first_and_marks_what_is_missed() -> None:
    rows = {row[1]: row for row in unlined(sections(str(whole()))["Tunnels"])}
    assert rows["slow"][0] == "0.50"
    assert rows["slow"][6] == f"ratio ≥ 1: {MISSED}"
    assert rows["fast"][6] == "ratio ≥ 1"
    assert rows["lonely"][7] == "not measured: no x / here"


@pytest.mark.parametrize(
    ("goal", "value", "is_met"),
    [
        (Goal(ratio_min=1.0), 2.0, True),
        (Goal(ratio_min=1.0), 1.99, False),
        (Goal(ratio_max=3.0), 6.1, False),
        (Goal(value_max=6.0), 6.0, True),
        (Goal(value_max=6.0), 6.1, False),
        (Goal(ratio_min=0.1, value_min=60.0), 59.0, False),
        (Goal(ratio_min=0.1, value_min=60.0), 60.0, True),
        (Goal(ratio_min=40.0, value_min=60.0), 60.0, False),
    ],
)
def test_a_goal_holds_ratio_and_value_to_its_bounds(goal: Goal, value: float, is_met: bool) -> None:
    assert figure("any", value, goal).is_met is is_met


def test_a_goal_for_a_ratio_is_missed_without_one() -> None:
    assert Figure(what="any", value=9.0, unit="s", goal=Goal(ratio_min=0.1)).is_met is False


def test_a_goal_reads_like_one() -> None:
    both = Goal(ratio_min=0.1, value_min=60_000)
    assert goal_text(both, "reports/s") == "ratio ≥ 0.1, ≥ 60,000 reports/s"


def test_tiny_ratios_keep_two_digits() -> None:
    rows = [Figure(what="any", value=14.1, unit="µs", limit=5382.0)]
    assert unlined(table(rows))[0][0] == "0.0026"


def test_one_part_replaces_its_section_and_its_goals_alone() -> None:
    before = str(whole())
    again = result(TUNNEL, figure("slow", 8.0, Goal(ratio_min=1.0)))
    after = str(Page.parse(before).with_part(LATER, again))
    old, new = sections(before), sections(after)
    assert list(new) == list(old)
    assert new["Crow"] == old["Crow"]
    assert new["# Results"] == old["# Results"]
    assert "def5678, with uncommitted changes" in new["Tunnels"]
    assert "PART=tunnel" in new["Tunnels"]
    assert "def5678" not in new["# Results"] + new["Crow"]
    assert verdicts(after) == {"slow": "met", "early": "met"}
    assert "\n2 met.\n" in after


def test_a_page_that_is_read_is_the_page_that_was_written() -> None:
    text = str(whole())
    assert str(Page.parse(text)) == text
    again = str(Page.parse(text).with_part(LATER, result(CROW, figure("early", 5.0))))
    assert str(Page.parse(again)) == again


def test_sections_and_goals_keep_the_order_of_the_parts() -> None:
    first = result(CROW, figure("early", 5.0, Goal(value_max=6.0)))
    second = result(TUNNEL, figure("fast", 4.0, Goal(ratio_min=1.0)))
    page = Page.parse("").with_part(WHERE, first).with_part(LATER, second)
    assert list(sections(str(page)))[1:] == ["Goals", "Tunnels", "Crow"]
    assert list(verdicts(str(page))) == ["fast", "early"]


@pytest.mark.parametrize("text", ["", "# Results\n\nby hand\n\n## Streams\n\n| a |\n", "# Other\n"])
def test_of_any_other_page_nothing_is_kept(text: str) -> None:
    page = str(Page.parse(text).with_part(WHERE, result(CROW, figure("plain", 1.0))))
    assert list(sections(page))[1:] == ["Goals", "Crow"]
    assert "by hand" not in page


def test_a_part_that_failed_is_told_in_its_section_and_among_the_goals() -> None:
    text = str(Page.parse(str(whole())).with_part(LATER, result(TUNNEL, failure="OSError: no")))
    assert "\n**failed**: OSError: no\n" in sections(text)["Tunnels"]
    assert verdicts(text) == {"all of it": "**failed**", "early": "met"}
    assert "1 met, 1 failed." in text


def test_who_names_a_part_that_is_none_hears_which_there_are() -> None:
    assert unknown(["tunnel", "fuzz"]) == ""
    told = unknown(["tunnel", "tunel"])
    assert told.startswith("no such part: tunel; there are ")
    assert all(name in told for name in NAMES)
    assert "\n" not in told


def test_all_parts_together_take_no_longer_than_they_may() -> None:
    assert sum(part.expected_s for part in PARTS) <= MINUTES_MAX * 60


def test_names_and_titles_are_used_once() -> None:
    assert len({part.name for part in PARTS}) == len({part.title for part in PARTS}) == len(PARTS)


def test_the_page_of_this_commit_was_written_by_the_bench() -> None:
    text = RESULTS.read_text()
    assert str(Page.parse(text)) == text
    assert set(list(sections(text))[2:]) <= {part.title for part in PARTS}
