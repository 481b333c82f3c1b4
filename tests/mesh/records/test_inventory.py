"""Inventories: equal digests for equal contents, and the buckets in which they differ."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.records.inventory import Inventory
from rookery.wire.mesh.flood import BucketDigests, StatementKey, SummaryEntry
from rookery.wire.mesh.statement import CERTIFICATE, RECORD

keys = st.builds(
    StatementKey, st.sampled_from([CERTIFICATE, RECORD]), st.binary(min_size=8, max_size=8)
)
contents = st.dictionaries(keys, st.integers(0, 2**64 - 1), max_size=30)


def inventory(content: dict[StatementKey, int]) -> Inventory:
    made = Inventory()
    for key, version in content.items():
        made.put(key, version)
    return made


@given(contents, contents)
def test_two_ways_to_the_same_contents_are_equal(
    former: dict[StatementKey, int], now: dict[StatementKey, int]
) -> None:
    detour = inventory(former)
    for key, version in now.items():
        detour.put(key, version)
    for key in former.keys() - now.keys():
        detour.remove(key)
    direct = inventory(dict(reversed(now.items())))
    assert detour.root == direct.root
    assert detour.digests == direct.digests
    assert detour.differing(direct.digests) == []


@given(contents, keys, st.integers(0, 2**64 - 1))
def test_a_difference_shows_in_its_bucket_only(
    content: dict[StatementKey, int], key: StatementKey, version: int
) -> None:
    one, other = inventory(content), inventory(content)
    other.put(key, version)
    if content.get(key) == version:
        assert one.root == other.root
        return
    assert one.root != other.root
    told = BucketDigests(tuple(map(BucketDigests.told, other.digests.digests)))
    assert one.differing(told) == [key.bucket]
    assert SummaryEntry(*key, version) in other.section(key.bucket).entries
    assert other.entries(key.bucket)[key].version == version


def test_taking_out_what_is_not_there_changes_nothing() -> None:
    empty = Inventory()
    empty.remove(StatementKey(RECORD, bytes(8)))
    assert empty.root == Inventory().root
