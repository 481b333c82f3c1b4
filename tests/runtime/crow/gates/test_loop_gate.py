"""Crow within the process (C2)."""

from rookery.runtime.crow.gates.gate import CrowGate
from rookery.runtime.crow.gates.loop_gate import QUEUE_MAX, CrowLoopGate
from tests.runtime.crow.recorder import CrowRecorder, packet


async def test_a_packet_comes_back_to_its_own_tower() -> None:
    recorder = CrowRecorder()
    gate: CrowGate = CrowLoopGate(recorder, gate_id=5)
    gate.send(packet(b"\x05"))
    assert recorder.arrivals == []  # not while the tower still sends
    assert await recorder.arrival() == (packet(b"\x05"), b"\x05")
    await gate.close()


async def test_a_pair_joins_two_towers() -> None:
    one, two = CrowRecorder(), CrowRecorder()
    left, right = CrowLoopGate.pair(one, two)
    left.send(packet(b"\x01", b"to the right"))
    right.send(packet(b"\x01", b"to the left"))
    await one.arrival()
    await two.arrival()
    assert (one.data, two.data) == ([b"to the left"], [b"to the right"])


async def test_a_batch_is_followed_by_one_drain() -> None:
    recorder = CrowRecorder()
    gate = CrowLoopGate(recorder)
    for number in range(10):
        gate.send(packet(b"\x01", b"%d" % number))
    await recorder.arrival(10)
    assert recorder.data == [b"%d" % number for number in range(10)]
    assert len(recorder.drains) == 1


async def test_what_waits_is_bounded() -> None:
    recorder = CrowRecorder()
    gate = CrowLoopGate(recorder)
    for _ in range(QUEUE_MAX + 3):
        gate.send(packet(b"\x01"))
    assert gate.counters.dropped == {"full": 3}
    await recorder.arrival(QUEUE_MAX)


async def test_nothing_arrives_after_closing() -> None:
    one, two = CrowRecorder(), CrowRecorder()
    left, right = CrowLoopGate.pair(one, two)
    left.send(packet(b"\x01"))
    await right.close()
    left.send(packet(b"\x01"))
    assert left.counters.dropped == {"unreachable": 1}
    assert two.arrivals == []
