"""Crow over serial lines on pseudo-terminals (C1, C2, C8)."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.runtime.crow.gates.gate import CrowGate
from rookery.runtime.crow.gates.serial_gate import PACKET_SIZE_MAX, CrowSerialGate
from rookery.wire.crow import gstuff
from tests.runtime.crow.pty_line import NullModem, PtyLine
from tests.runtime.crow.recorder import CrowRecorder, eventually, packet


@pytest.fixture
def recorder() -> CrowRecorder:
    return CrowRecorder()


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[PtyLine]:
    wire = PtyLine(tmp_path / "tty")
    yield wire
    wire.close()


@pytest.fixture
async def modem(tmp_path: Path) -> AsyncIterator[NullModem]:
    modem = NullModem(tmp_path)
    yield modem
    modem.close()


@pytest.mark.parametrize("symbols", [0, 1])
@pytest.mark.parametrize("header", [0, 1])
async def test_two_gates_talk_over_symbols_and_header_of_either_version(
    modem: NullModem, recorder: CrowRecorder, symbols: int, header: int
) -> None:
    left = CrowSerialGate(
        CrowRecorder(), str(modem.left.path), symbols_version=symbols, header_version=header
    )
    right: CrowGate = CrowSerialGate(
        recorder, str(modem.right.path), symbols_version=symbols, header_version=header, gate_id=5
    )
    sent = packet(b"\x2a", bytes(range(256)))
    left.send(sent)
    assert await recorder.arrival() == (sent, b"\x05")
    await left.close()
    await right.close()


async def test_a_packet_is_one_gstuff_frame(wire: PtyLine, recorder: CrowRecorder) -> None:
    gate = CrowSerialGate(recorder, str(wire.path))
    received = bytearray()
    wire.on_bytes(received.extend)
    gate.send(packet(b"\x2a"))
    frame = gstuff.frame(packet(b"\x2a").serialize(), gstuff.V1)
    await eventually(lambda: len(received) >= len(frame))
    assert bytes(received) == frame
    await gate.close()


async def test_noise_and_damage_are_counted_and_the_next_frame_is_read(
    wire: PtyLine, recorder: CrowRecorder
) -> None:
    gate = CrowSerialGate(recorder, str(wire.path))
    good = gstuff.frame(packet(b"\x2a").serialize(), gstuff.V1)
    no_packet = gstuff.frame(b"no packet", gstuff.V1)
    damaged = good[:5] + bytes([good[5] ^ 1]) + good[6:]
    wire.write(b"noise" + damaged + no_packet + good[:7] + good)
    await recorder.arrival()
    assert recorder.data == [b"hello"]
    assert gate.counters.dropped == {"malformed": 3}  # damaged, no packet, cut off
    await gate.close()


async def test_half_a_frame_from_before_an_unplugging_spoils_nothing(
    wire: PtyLine, recorder: CrowRecorder
) -> None:
    gate = CrowSerialGate(recorder, str(wire.path), symbols_version=0)
    frame = gstuff.frame(packet(b"\x2a").serialize(), gstuff.V0)
    wire.write(frame)
    await recorder.arrival(1)
    wire.write(frame[:9])
    await eventually(lambda: len(recorder.drains) == 2)
    wire.unplug()
    await eventually(lambda: not gate.is_plugged)
    gate.send(packet(b"\x2a"))
    assert gate.counters.dropped == {"unreachable": 1}
    wire.plug()
    await eventually(lambda: gate.is_plugged)
    wire.write(frame)
    await recorder.arrival(2)
    assert gate.counters.dropped == {"unreachable": 1}
    await gate.close()


async def test_a_packet_too_large_for_a_line_is_dropped(
    wire: PtyLine, recorder: CrowRecorder
) -> None:
    gate = CrowSerialGate(recorder, str(wire.path))
    gate.send(packet(b"\x2a", bytes(PACKET_SIZE_MAX)))
    assert gate.counters.dropped == {"unfit": 1}
    await gate.close()


async def test_more_than_the_line_takes_is_dropped(wire: PtyLine, recorder: CrowRecorder) -> None:
    gate = CrowSerialGate(recorder, str(wire.path))
    for _ in range(100):
        gate.send(packet(b"\x2a", bytes(1000)))
    assert gate.counters.dropped["full"] > 50
    assert gate.counters.packets_out + gate.counters.dropped["full"] == 100
    await gate.close()


async def test_there_are_two_sets_of_symbols(wire: PtyLine, recorder: CrowRecorder) -> None:
    with pytest.raises(UsageError, match="version 2"):
        CrowSerialGate(recorder, str(wire.path), symbols_version=2)
