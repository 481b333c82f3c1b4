"""The vectors of docs/protocol/mesh-records.md: made without our code, and what our code makes."""

import runpy
from pathlib import Path

import msgspec

from rookery.identity import signing
from rookery.mesh.records.inventory import Inventory
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.flood import (
    BUCKETS,
    BucketDigests,
    RootDigest,
    StatementKey,
    Statements,
    Summary,
    SummaryEntry,
    Want,
    key_of,
    parse_digest,
)
from rookery.wire.mesh.record import Record, RecordLink, rate_code
from rookery.wire.mesh.statement import RECORD, Statement

FOLDER = Path(__file__).parents[2] / "vectors"
PAGE = Path(__file__).parents[3] / "docs" / "protocol" / "mesh-records.md"


class Held(msgspec.Struct):
    kind: int
    key: str
    version: int
    bucket: int
    digest: str

    @property
    def entry(self) -> SummaryEntry:
        return SummaryEntry(self.kind, bytes.fromhex(self.key), self.version)


class Frames(msgspec.Struct):
    held: list[Held]
    statements: str
    digest_of_all: str
    digest_of_buckets: str
    summary: str
    want: str


class Vectors(msgspec.Struct):
    realm: str
    signing_seed: str
    signing_key: str
    origin: str
    content: str
    statement: str
    frames: Frames


VECTORS = msgspec.json.decode((FOLDER / "mesh-records.json").read_bytes(), type=Vectors)
FRAMES = VECTORS.frames
DATA = bytes.fromhex(VECTORS.statement)


def split(frame: str) -> tuple[bytes, bytes]:
    data = bytes.fromhex(frame)
    return data[:1], data[1:]


def inventory() -> Inventory:
    made = Inventory()
    for held in FRAMES.held:
        made.put(StatementKey(*held.entry[:2]), held.version)
    return made


def test_the_file_is_what_the_page_says() -> None:
    script = runpy.run_path(str(FOLDER / "make_mesh_records.py"))
    assert msgspec.json.decode((FOLDER / "mesh-records.json").read_bytes()) == script["make"]()


def test_the_page_shows_the_same_record() -> None:
    page = "".join(PAGE.read_text().split())
    assert VECTORS.content in page
    assert VECTORS.origin in page
    assert VECTORS.statement[-128:] in page


def test_our_record_is_that_of_the_vectors() -> None:
    record = Record.parse(bytes.fromhex(VECTORS.content))
    assert record.origin == bytes.fromhex(VECTORS.origin)
    assert record.version == (3, 17)
    assert (record.made_s, record.lifetime_s, record.roles) == (1_800_000_000, 7200, 0b11)
    assert {link.cost_us: link for link in record.links} == {
        12_345: RecordLink(record.links[0].peer, 1, 12_345, 0, rate_code(125e6)),
        800: RecordLink(record.links[1].peer, 2, 800, 13, 0),
    }
    assert record.paths == (
        NetPath("tcp4", "192.0.2.7", 4242),
        NetPath("tcp6", "2001:db8::7", 4242),
    )
    assert record.services == ("exit", "exit:lan")
    assert record.serialize().hex() == VECTORS.content


def test_our_statement_is_that_of_the_vectors() -> None:
    statement = Statement.parse(DATA)
    assert (statement.kind, statement.realm.hex()) == (RECORD, VECTORS.realm)
    signing.verify(bytes.fromhex(VECTORS.signing_key), statement.signed, statement.signature)
    assert signing.sign(bytes.fromhex(VECTORS.signing_seed), statement.signed) == (
        statement.signature
    )
    assert key_of(DATA) == StatementKey(RECORD, bytes.fromhex(VECTORS.origin))


def test_our_buckets_and_digests_are_those_of_the_vectors() -> None:
    for held in FRAMES.held:
        assert StatementKey(*held.entry[:2]).bucket == held.bucket
        assert held.entry.digest == int(held.digest, 16)
    assert split(FRAMES.digest_of_all) == inventory().root.serialize()
    assert split(FRAMES.digest_of_buckets) == inventory().digests.serialize()
    assert isinstance(parse_digest(*split(FRAMES.digest_of_all)), RootDigest)
    told = parse_digest(*split(FRAMES.digest_of_buckets))
    assert isinstance(told, BucketDigests)
    assert inventory().differing(told) == []


def test_our_frames_are_those_of_the_vectors() -> None:
    assert Statements.parse(*split(FRAMES.statements)) == Statements((DATA, DATA))
    assert Statements((DATA, DATA)).serialize() == split(FRAMES.statements)
    sections = [inventory().section(bucket) for bucket in range(BUCKETS)]
    summary = Summary(tuple(section for section in sections if section.entries))
    assert summary.serialize() == split(FRAMES.summary)
    assert Summary.parse(*split(FRAMES.summary)) == summary
    want = Want(tuple(StatementKey(*held.entry[:2]) for held in FRAMES.held))
    assert want.serialize() == split(FRAMES.want)
    assert Want.parse(*split(FRAMES.want)) == want
