"""Inventory: which statements we hold, by bucket, so that two neighbours find what differs.

Each bucket has a digest that changes with every statement put in or taken out; equal digests mean
equal contents, whatever order they came in.
"""

from rookery.wire.mesh.flood import (
    BUCKETS,
    SECTION_ENTRIES_MAX,
    BucketDigests,
    RootDigest,
    StatementKey,
    SummaryEntry,
    SummarySection,
)


class Inventory:
    __slots__ = ("_buckets", "_digests", "_root")

    def __init__(self) -> None:
        self._buckets: list[dict[StatementKey, SummaryEntry]] = [{} for _ in range(BUCKETS)]
        self._digests = [0] * BUCKETS
        self._root = 0

    def put(self, key: StatementKey, version: int = 0) -> None:
        """Hold this version, and no other, of a statement."""
        self.remove(key)
        entry = SummaryEntry(key.kind, key.key, version)
        bucket = key.bucket
        self._buckets[bucket][key] = entry
        self._toggle(bucket, entry)

    def remove(self, key: StatementKey) -> None:
        bucket = key.bucket
        entry = self._buckets[bucket].pop(key, None)
        if entry is not None:
            self._toggle(bucket, entry)

    def _toggle(self, bucket: int, entry: SummaryEntry) -> None:
        digest = entry.digest
        self._digests[bucket] ^= digest
        self._root ^= digest

    def entries(self, bucket: int) -> dict[StatementKey, SummaryEntry]:
        return self._buckets[bucket]

    @property
    def root(self) -> RootDigest:
        return RootDigest(self._root)

    @property
    def digests(self) -> BucketDigests:
        return BucketDigests(tuple(self._digests))

    def differing(self, theirs: BucketDigests) -> list[int]:
        """The buckets whose contents differ from those of another node."""
        pairs = zip(self._digests, theirs.digests, strict=True)
        sent = BucketDigests.told
        return [at for at, (own, their) in enumerate(pairs) if sent(own) != sent(their)]

    def section(self, bucket: int) -> SummarySection:
        entries = sorted(self._buckets[bucket].values())
        return SummarySection(bucket, tuple(entries[:SECTION_ENTRIES_MAX]))
