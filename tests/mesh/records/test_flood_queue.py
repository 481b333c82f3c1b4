"""What waits for one neighbour: bounded, in an order that helps, and always in its newest form."""

import pytest

from rookery.mesh.records.database import RecordDatabase
from rookery.mesh.records.flood_queue import WAITING_MAX, FloodQueue
from rookery.wire.link.frame_types import SUMMARY
from rookery.wire.mesh.flood import BODY_SIZE, BUCKETS, StatementKey, Statements, Summary, key_of
from rookery.wire.mesh.statement import CERTIFICATE, RECORD
from tests.mesh.realms import NOW_S
from tests.mesh.signed_records import membership, scribe

OWN = scribe("own")
CROWD = [scribe(f"crowd {number}") for number in range(40)]


@pytest.fixture(scope="module")
def database() -> RecordDatabase:
    held = RecordDatabase(membership(OWN, *CROWD))
    held.inventory(0.0)
    for member in CROWD:
        held.offer(member.says(), 0.0, NOW_S)
    return held


def drain(queue: FloodQueue, database: RecordDatabase) -> list[tuple[bytes, bytes]]:
    frames = []
    while (frame := queue.next_frame(database, 0.0)) is not None:
        frames.append(frame)
    assert not queue
    return frames


def test_certificates_leave_before_records_in_full_frames(database: RecordDatabase) -> None:
    queue = FloodQueue()
    for member in CROWD:
        queue.add(StatementKey(RECORD, member.node))
        queue.add(key_of(member.certificate))
    frames = drain(queue, database)
    sent = [data for frame in frames for data in Statements.parse(*frame).statements]
    assert [data[1] for data in sent] == [CERTIFICATE] * 40 + [RECORD] * 40
    sizes = [len(body) for _, body in frames]
    assert max(sizes) <= BODY_SIZE
    assert min(sizes[:-1]) > BODY_SIZE - 300


def test_what_is_not_held_any_more_is_left_out(database: RecordDatabase) -> None:
    queue = FloodQueue()
    queue.add(StatementKey(RECORD, bytes(8)))
    assert queue
    assert queue.next_frame(database, 0.0) is None
    assert not queue


def test_what_the_neighbour_has_by_now_is_left_out(database: RecordDatabase) -> None:
    queue = FloodQueue()
    for member in CROWD[:2]:
        queue.add(StatementKey(RECORD, member.node))
        queue.add(key_of(member.certificate))
    queue.discard(StatementKey(RECORD, CROWD[0].node))
    queue.discard(key_of(CROWD[1].certificate))
    queue.discard(StatementKey(RECORD, bytes(8)))
    [frame] = drain(queue, database)
    assert Statements.parse(*frame).statements == (CROWD[0].certificate, CROWD[1].says())


def test_no_more_than_its_bound_waits(database: RecordDatabase) -> None:
    queue = FloodQueue()
    queue.add(StatementKey(RECORD, CROWD[0].node))
    for number in range(WAITING_MAX - 1):
        queue.add(StatementKey(RECORD, number.to_bytes(8)))
    queue.add(StatementKey(RECORD, CROWD[0].node))
    assert not queue.has_overflowed
    queue.add(StatementKey(RECORD, CROWD[1].node))
    assert queue.has_overflowed
    [frame] = drain(queue, database)
    assert Statements.parse(*frame).statements == (CROWD[0].says(),)


def test_summaries_come_in_the_order_of_buckets_and_whole(database: RecordDatabase) -> None:
    queue = FloodQueue()
    queue.buckets.update(range(BUCKETS))
    frames = drain(queue, database)
    assert {head[0] for head, _ in frames} == {SUMMARY}
    assert max(len(body) for _, body in frames) <= BODY_SIZE
    sections = [section for frame in frames for section in Summary.parse(*frame).sections]
    assert [section.bucket for section in sections] == list(range(BUCKETS))
    assert sum(len(section.entries) for section in sections) == 1 + 2 * len(CROWD)
