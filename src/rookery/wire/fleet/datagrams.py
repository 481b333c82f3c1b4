"""The fleet's datagrams: values of the TLVs that senders and the hub exchange over UDP.

    report  | form=1 | sender | generation | boot | sequence | proof | content |
            |   1    |    6     |     4      |  8   |    8     |  16   |   ...   |
    plain   | form=2 | sender | secret | content |
            |   1    |    6     |   32   |   ...   |
    hello   | sender | nonce | key 40 | digest 2a | code id | code proof | zeros |
            |    6     |   8   |   64   |    32     |    8    |     16     |  ...  |
    secret  | sender | E3X message of 40: | generation | secret | nonce | hub ms | |
            |    6     |                    |     4      |   32   |   8   |   8    | |
    ack     | sender | boot | sequence | proof |
            |    6     |  8   |    8     |  16   |
    call    | sender | boot | sequence | wish | proof |
            |    6     |  8   |    8     |  8   |  16   |
    fault   | code | sender | boot | sequence | proof, or nothing |
            |  2   |    6     |  8   |    8     |        16         |

Sizes in bytes, integers big-endian. A proof is over the tag and the value without the proof itself;
`proved` is that. docs/protocol/fleet.md is normative.
"""

from struct import Struct
from typing import Final, NamedTuple, Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.fleet import tlv
from rookery.wire.fleet.tags import ACK, CALL, ERROR
from rookery.wire.fleet.telemetry import CONTENT_SIZE_MAX
from rookery.wire.fleet.telemetry import report_origin as plain_lineage

PROVED_FORM: Final = 1
PLAIN_FORM: Final = 2

UNKNOWN: Final = 1  # no proof: say hello
STALE: Final = 2  # proved; boot is the newest that is known
DENIED: Final = 3  # no proof: no code that admits it, or another key than before
BUSY: Final = 4  # no proof: too many hellos; try later

BOOT_SEQUENCE_MAX = (1 << 63) - 1  # of boot and sequence
HELLO_DATAGRAM_SIZE_MIN = 192  # so that no answer is larger

PROOF_SIZE = 16
NO_CODE_ID = bytes(8)
_NO_PROOF = bytes(PROOF_SIZE)

_REPORT = Struct(">HHB6sIQQ16s")
_PLAIN = Struct(">HHB6s32s")
_HELLO = Struct(">6s8s64s32s8s16s")
_ISSUE = Struct(">I32s8sQ")
_BOOT_SEQUENCE = Struct(">6sQQ")
_ACK = Struct(">HH6sQQ")
_ACK_PROVED = Struct(">H6sQQ")
_CALL = Struct(">6sQQQ")
_FAULT = Struct(">H6sQQ")
_TAG = Struct(">H")
_SENDER_SIZE = 6
_ACK_LENGTH = _BOOT_SEQUENCE.size + PROOF_SIZE

# Where the parts of a proved report are in its TLV, for readers of tens of thousands a second.
FORM_AT: Final = 4
SENDER_AT: Final = 5
BOOT_AT: Final = 15
PROOF_AT: Final = 31
CONTENT_AT: Final = 47


class ReportDatagram(msgspec.Struct, frozen=True, gc=False):
    """A report as it came. With the plain form `proof` is the secret, and generation is 0."""

    tag: int
    form: int
    sender: bytes
    generation: int
    boot: int
    sequence: int
    proof: bytes
    proved: bytes
    content: bytes

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Read one TLV with a report in it, head included, or raise DecodeError."""
        report = cls.read(data)
        if report is None:
            raise DecodeError(f"{len(data)} bytes are no report")
        return report

    @classmethod
    def read(cls, data: bytes) -> Self | None:
        """The same without an exception: the hub does this tens of thousands of times a second."""
        size = len(data)
        if not _REPORT.size <= size <= _REPORT.size + CONTENT_SIZE_MAX:
            return None
        tag, length, form, sender, generation, boot, sequence, proof = _REPORT.unpack_from(data)
        if length != size - tlv.HEAD_SIZE:
            return None
        if form != PROVED_FORM:
            return cls._read_plain(data) if form == PLAIN_FORM else None
        if boot > BOOT_SEQUENCE_MAX or not 0 < sequence <= BOOT_SEQUENCE_MAX:
            return None
        content = data[_REPORT.size :]
        proved = data[:2] + data[tlv.HEAD_SIZE : PROOF_AT] + content
        return cls(tag, form, sender, generation, boot, sequence, proof, proved, content)

    @classmethod
    def _read_plain(cls, data: bytes) -> Self | None:
        tag, _, form, sender, secret = _PLAIN.unpack_from(data)
        content = data[_PLAIN.size :]
        try:
            origin = plain_lineage(content)
        except DecodeError:
            return None
        if origin.n == 0:
            return None
        return cls(tag, form, sender, 0, origin.b, origin.n, secret, b"", content)


def report_proved(
    tag: int, sender: bytes, generation: int, boot: int, sequence: int, content: bytes
) -> bytes:
    """What the proof of a report is made over."""
    head = _REPORT.pack(tag, 0, PROVED_FORM, sender, generation, boot, sequence, _NO_PROOF)
    return head[:2] + head[tlv.HEAD_SIZE : PROOF_AT] + content


def serialize_report(proved: bytes, proof: bytes) -> bytes:
    """The TLV of a report, from what is proved of it."""
    length = len(proved) - _TAG.size + PROOF_SIZE
    assert length <= _REPORT.size - tlv.HEAD_SIZE + CONTENT_SIZE_MAX
    cut = _TAG.size + PROOF_AT - tlv.HEAD_SIZE
    return proved[:2] + _TAG.pack(length) + proved[2:cut] + proof + proved[cut:]


def serialize_plain(tag: int, sender: bytes, secret: bytes, content: bytes) -> bytes:
    """The TLV of a report in the plain form; boot and sequence are in the content."""
    value = bytes((PLAIN_FORM,)) + sender + secret + content
    return tlv.serialize(tag, value)


class HelloDatagram(NamedTuple):
    """First contact, or contact after a loss of memory."""

    sender: bytes
    nonce: bytes
    key: bytes
    digest: bytes
    code_id: bytes = NO_CODE_ID
    code_proof: bytes = _NO_PROOF

    @property
    def proved(self) -> bytes:
        """What the code proof is made over."""
        return _HELLO.pack(*self)[:-PROOF_SIZE]

    def serialize(self, tag: int, datagram_size_min: int = 0) -> bytes:
        """The TLV, padded to that size."""
        value = _HELLO.pack(*self)
        return tlv.serialize(tag, value.ljust(datagram_size_min - tlv.HEAD_SIZE, b"\0"))

    @classmethod
    def parse(cls, value: bytes) -> Self:
        """Read the value of one TLV, or raise DecodeError."""
        if len(value) < _HELLO.size or any(value[_HELLO.size :]):
            raise DecodeError(f"{len(value)} bytes are no hello")
        return cls(*_HELLO.unpack_from(value))


class SealedSecret(NamedTuple):
    """A secret in transit: only the sender's key opens it, only the hub's has made it."""

    sender: bytes
    sealed: bytes

    def serialize(self) -> bytes:
        return self.sender + self.sealed

    @classmethod
    def parse(cls, value: bytes) -> Self:
        if len(value) <= _SENDER_SIZE:
            raise DecodeError(f"{len(value)} bytes are no secret")
        return cls(value[:_SENDER_SIZE], value[_SENDER_SIZE:])


class IssuedSecret(NamedTuple):
    """What is sealed: the secret, and what it answers."""

    generation: int
    secret: bytes
    nonce: bytes  # the hello's, or the sequence of the report
    hub_ms: int

    def serialize(self) -> bytes:
        return _ISSUE.pack(*self)

    @classmethod
    def parse(cls, data: bytes) -> Self:
        if len(data) != _ISSUE.size:
            raise DecodeError(f"{len(data)} bytes cannot hold a secret")
        return cls(*_ISSUE.unpack(data))

    def __repr__(self) -> str:
        return f"IssuedSecret(generation={self.generation})"


class AckDatagram(NamedTuple):
    """The report is durable."""

    sender: bytes
    boot: int
    sequence: int
    proof: bytes = _NO_PROOF

    @property
    def proved(self) -> bytes:
        return ack_proved(self.sender, self.boot, self.sequence)

    @classmethod
    def parse(cls, value: bytes) -> Self:
        if len(value) != _ACK_LENGTH:
            raise DecodeError(f"{len(value)} bytes are no acknowledgement")
        sender, boot, sequence = _BOOT_SEQUENCE.unpack_from(value)
        return cls(sender, boot, sequence, value[-PROOF_SIZE:])


def ack_proved(sender: bytes, boot: int, sequence: int) -> bytes:
    """What the proof of an acknowledgement is made over."""
    return _ACK_PROVED.pack(ACK, sender, boot, sequence)


def serialize_ack(proved: bytes, proof: bytes) -> bytes:
    """The TLV of an acknowledgement, from what is proved of it."""
    return ACK_START + proved[2:] + proof


class CallDatagram(NamedTuple):
    """Asks a device to connect to the hub over TCP, for a wish of a client."""

    sender: bytes
    boot: int
    sequence: int
    wish: int
    proof: bytes = _NO_PROOF

    @property
    def proved(self) -> bytes:
        return _TAG.pack(CALL) + _CALL.pack(*self[:4])

    def serialize(self) -> bytes:
        """The TLV."""
        return tlv.serialize(CALL, _CALL.pack(*self[:4]) + self.proof)

    @classmethod
    def parse(cls, value: bytes) -> Self:
        if len(value) != _CALL.size + PROOF_SIZE:
            raise DecodeError(f"{len(value)} bytes are no call")
        sender, boot, sequence, wish = _CALL.unpack_from(value)
        return cls(sender, boot, sequence, wish, value[-PROOF_SIZE:])


class FaultDatagram(NamedTuple):
    """Why the hub does not take a datagram. To a hello: boot 0, and its nonce as the sequence."""

    code: int
    sender: bytes
    boot: int
    sequence: int
    proof: bytes = b""

    @property
    def proved(self) -> bytes:
        return _TAG.pack(ERROR) + _FAULT.pack(*self[:4])

    def serialize(self) -> bytes:
        """The TLV."""
        return tlv.serialize(ERROR, _FAULT.pack(*self[:4]) + self.proof)

    @classmethod
    def parse(cls, value: bytes) -> Self:
        if len(value) not in (_FAULT.size, _FAULT.size + PROOF_SIZE):
            raise DecodeError(f"{len(value)} bytes are no fault")
        code, sender, boot, sequence = _FAULT.unpack_from(value)
        return cls(code, sender, boot, sequence, value[_FAULT.size :])


ACK_START = tlv.serialize(ACK, bytes(_ACK_LENGTH))[: tlv.HEAD_SIZE]
CALLED_SIZE = 2 * tlv.HEAD_SIZE + _ACK_LENGTH + _CALL.size + PROOF_SIZE  # ack and call together
