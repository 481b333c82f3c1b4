"""Report fast path: takes the common report without the full validator.

    datagram ─sender_of─▶ sender ─(entry)─take─▶ changed entry, or None: the validator decides

Nearly every datagram is the next report of a known device, proved with the secret it used before.
For those only the results are created. Anything that differs is left unchanged for the validator.
"""

from collections.abc import Callable
from hmac import compare_digest
from struct import Struct
from typing import Final

from rookery.fleet.enrolment.secret_cache import SecretCache
from rookery.fleet.enrolment.secrets import prove_by
from rookery.fleet.entry import FleetEntry, copied
from rookery.fleet.reports import replay_window
from rookery.wire import observation as observations
from rookery.wire.fleet.datagrams import (
    ACK_START,
    BOOT_AT,
    BOOT_SEQUENCE_MAX,
    CONTENT_AT,
    FORM_AT,
    PROOF_AT,
    PROVED_FORM,
    SENDER_AT,
)
from rookery.wire.fleet.tags import ACK, TELEMETRY
from rookery.wire.fleet.telemetry import CONTENT_SIZE_MAX

_HEAD: Final = Struct(">2xH7xIQQ16s")
_STAMP: Final = Struct(">QB")
_TAG_SIZE: Final = 2
_TAG_AND_LENGTH_SIZE: Final = 4
_SENDER_END: Final = SENDER_AT + 6
_SIZE_MAX: Final = CONTENT_AT + CONTENT_SIZE_MAX
_ACK_TAG: Final = ACK.to_bytes(_TAG_SIZE, "big")
_ACK_START: Final = ACK_START
_GROUP_BIT: Final = 0x01
_copied: Final = copied


def sender_of(datagram: bytes) -> bytes | None:
    """The sender of a datagram that is telemetry by its form; None for everything else."""
    if not CONTENT_AT <= len(datagram) <= _SIZE_MAX:
        return None
    if datagram[0] << 8 | datagram[1] != TELEMETRY or datagram[FORM_AT] != PROVED_FORM:
        return None
    if datagram[SENDER_AT] & _GROUP_BIT:
        return None
    return datagram[SENDER_AT:_SENDER_END]


class ReportFastPath:
    """One per batch: collects its records and answers."""

    __slots__ = (
        "_address_text",
        "_now",
        "_renewal_s",
        "_secrets",
        "_stamp",
        "answers",
        "records",
    )

    def __init__(
        self,
        secrets: SecretCache,
        renewal_s: int,
        address_text: Callable[[bytes], str],
        now: float,
    ) -> None:
        self._secrets = secrets
        self._renewal_s = renewal_s
        self._address_text = address_text
        self._now = now
        self._stamp = _STAMP.pack(int(now * 1000), observations.DEVICE)
        self.records: list[bytes] = []  # for the spool
        self.answers: list[bytes] = []  # once those are durable

    def take(self, datagram: bytes, entry: FleetEntry, address: bytes) -> FleetEntry | None:
        """Decide a datagram that has a sender; returns a changed copy of `entry`, or None."""
        length: int
        generation: int
        boot: int
        sequence: int
        proof: bytes
        length, generation, boot, sequence, proof = _HEAD.unpack_from(datagram)
        ahead = sequence - entry.sequence
        if (
            ahead <= 0
            or sequence > BOOT_SEQUENCE_MAX
            or boot != entry.boot
            or generation != entry.generation
            or length != len(datagram) - _TAG_AND_LENGTH_SIZE
            or self._now >= generation + self._renewal_s
        ):
            return None
        kept = self._secrets.kept(entry, generation)
        if kept is None:
            return None
        prover = kept.prover
        content = datagram[CONTENT_AT:]
        proved = datagram[:_TAG_SIZE] + datagram[_TAG_AND_LENGTH_SIZE:PROOF_AT] + content
        if not compare_digest(prove_by(prover, proved), proof):
            return None
        if kept.address != address:
            kept.address, kept.address_text = address, self._address_text(address)
        taken = _copied(entry)
        taken.sequence = sequence
        taken.window = replay_window.shifted(taken.window, ahead)
        taken.last_seen = self._now
        taken.address = kept.address_text
        taken.content = content
        origin = datagram[SENDER_AT:_SENDER_END] + datagram[BOOT_AT:PROOF_AT]
        self.records.append(self._stamp + origin + content)
        self.answers.append(_ACK_START + origin + prove_by(prover, _ACK_TAG + origin))
        return taken
