"""RENEWAL: two ends of a link agree on new session keys, inside the session.

    head | 12 | step |   body | phase | ephemeral |
         | 1  |  1   |        |   4   |  32 or 0  |

    step     1 OFFER     the initiator's ephemeral for the keys of `phase`
             2 ANSWER    the responder's
             3 CONFIRM   the initiator seals under the new keys, as this packet shows
             4 DONE      so does the responder

OFFER and ANSWER carry an ephemeral, the others none.
"""

from enum import IntEnum
from typing import Final, Self

import msgspec

from rookery.errors import DecodeError
from rookery.wire.link.frame_types import RENEWAL

PHASE_MAX: Final = (1 << 24) - 1

_HEAD_SIZE: Final = 2
_PHASE_SIZE: Final = 4
_EPHEMERAL_SIZE: Final = 32


class RenewalStep(IntEnum):
    """The numbers are those of the wire."""

    OFFER = 1
    ANSWER = 2
    CONFIRM = 3
    DONE = 4


class RenewalFrame(msgspec.Struct, frozen=True, gc=False):
    """One step of a renewal."""

    step: RenewalStep
    phase: int
    ephemeral: bytes = b""

    def serialize(self) -> tuple[bytes, bytes]:
        """Head and body."""
        phase = self.phase.to_bytes(_PHASE_SIZE, "big")
        return bytes((RENEWAL, self.step)), phase + self.ephemeral

    @classmethod
    def parse(cls, head: bytes, body: bytes) -> Self:
        """Read one RENEWAL frame, or raise DecodeError."""
        if len(head) != _HEAD_SIZE or head[0] != RENEWAL:
            raise DecodeError(f"a head of {len(head)} bytes cannot be that of RENEWAL")
        try:
            step = RenewalStep(head[1])
        except ValueError as error:
            raise DecodeError(f"there is no RENEWAL of step {head[1]}") from error
        size = _EPHEMERAL_SIZE if step in (RenewalStep.OFFER, RenewalStep.ANSWER) else 0
        if len(body) != _PHASE_SIZE + size:
            raise DecodeError(f"{len(body)} bytes cannot be step {head[1]} of RENEWAL")
        phase = int.from_bytes(body[:_PHASE_SIZE], "big")
        if not 0 < phase <= PHASE_MAX:
            raise DecodeError(f"there is no phase {phase} to renew to")
        return cls(step, phase, body[_PHASE_SIZE:])
