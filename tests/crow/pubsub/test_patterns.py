"""Wildcards (C7): an extension, so plain names must stay what they are to the C++ broker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.crow.pubsub.orders import BrokerClient, DeliveryOptions
from rookery.crow.pubsub.patterns import Patterns, is_pattern, matches

ALICE = BrokerClient(b"alice", 1)

levels = st.sampled_from([b"a", b"b", b"+", b"#", b"", b"a+", b"#b"])
names = st.lists(levels, min_size=1, max_size=5).map(b"/".join)


@pytest.mark.parametrize("name", [b"+", b"#", b"a/+", b"+/b", b"a/+/c", b"a/#", b"+/+/#", b"/+"])
def test_a_whole_level_makes_a_pattern(name: bytes) -> None:
    assert is_pattern(name)


@pytest.mark.parametrize(
    "name", [b"", b"a", b"a/b", b"a+", b"a/b#", b"++", b"#/a", b"+/#/b", b"##"]
)
def test_anything_else_is_a_plain_name(name: bytes) -> None:
    assert not is_pattern(name)


@pytest.mark.parametrize(
    ("pattern", "theme"),
    [
        (b"+", b"a"),
        (b"a/+", b"a/b"),
        (b"a/+", b"a/"),
        (b"a/+", b"a/+"),
        (b"+/b/+", b"a/b/c"),
        (b"#", b""),
        (b"#", b"a/b/c"),
        (b"a/#", b"a"),
        (b"a/#", b"a/b/c"),
        (b"+/#", b"a/#"),
        (b"a+", b"a+"),
    ],
)
def test_matching(pattern: bytes, theme: bytes) -> None:
    assert matches(pattern, theme)


@pytest.mark.parametrize(
    ("pattern", "theme"),
    [
        (b"+", b"a/b"),
        (b"a/+", b"a"),
        (b"a/+", b"a/b/c"),
        (b"a/+", b"b/b"),
        (b"a/#", b"b"),
        (b"a/#", b"ab"),
        (b"a/b/#", b"a"),
        (b"a+", b"ab"),
        (b"#/a", b"b/a"),
    ],
)
def test_not_matching(pattern: bytes, theme: bytes) -> None:
    assert not matches(pattern, theme)


@given(st.lists(names, max_size=8, unique=True), names)
def test_the_tree_finds_exactly_the_patterns_that_match(wanted: list[bytes], theme: bytes) -> None:
    patterns = Patterns()
    known = [name for name in wanted if is_pattern(name)]
    for index, name in enumerate(known):
        patterns.open(name)[ALICE] = DeliveryOptions(0, index)
    found = sorted(audience[ALICE].ackquant_ms for audience in patterns.matching(theme))
    assert found == [index for index, name in enumerate(known) if matches(name, theme)]
    assert len(patterns) == len(known)


@given(st.lists(names, max_size=8, unique=True))
def test_closed_patterns_leave_nothing_behind(wanted: list[bytes]) -> None:
    patterns = Patterns()
    known = [name for name in wanted if is_pattern(name)]
    for name in known:
        patterns.open(name)
    for position, name in enumerate(reversed(known)):
        assert patterns.audience(name) == {}
        patterns.close(name)
        assert patterns.audience(name) is None
        assert len(patterns) == len(known) - position - 1
    assert list(patterns.matching(b"a/b")) == []
