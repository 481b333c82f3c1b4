"""F12: tags are in the range of who says them."""

import pytest

from rookery.wire.fleet import tags


def test_the_seeds_tags_are_what_they_were_f12() -> None:
    assert (tags.ERROR, tags.KEY) == (1, 2)
    assert (tags.CALL, tags.DIRECT) == (1025, 1026)
    assert (tags.TELEMETRY, tags.ASK) == (3073, 3074)


def test_the_ranges_follow_each_other_f12() -> None:
    ranges = (tags.SYSTEM_TAGS, tags.HUB_TAGS, tags.SERVER_TAGS, tags.ROUTER_TAGS)
    assert [tag for each in ranges for tag in each] == list(range(1, 4097))
    assert [each.start for each in ranges] == [1, 1025, 2049, 3073]


@pytest.mark.parametrize(
    ("span", "names"),
    [
        (tags.SYSTEM_TAGS, "ERROR KEY SEALED RPC RPC_PART"),
        (tags.HUB_TAGS, "CALL DIRECT ACK SECRET RESERVE RELEASE RENEWED CERTIFIED"),
        (
            tags.SERVER_TAGS,
            "LOAD RESERVED REFUSED ARRIVED ABANDONED WELCOME SERVER_HELLO AUDIT SESSION "
            "HOLD LET_GO RENEW CERTIFY",
        ),
        (tags.ROUTER_TAGS, "TELEMETRY ASK HELLO ARRIVE ATTEND"),
    ],
)
def test_every_tag_is_in_its_range_f12(span: range, names: str) -> None:
    numbers = [getattr(tags, name) for name in names.split()]
    assert all(number in span for number in numbers)


def test_no_two_tags_are_the_same_f12() -> None:
    numbers = [value for name, value in vars(tags).items() if isinstance(value, int)]
    assert len(numbers) == len(set(numbers)) == 31
