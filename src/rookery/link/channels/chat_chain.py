"""The chain of ids that one participant uses up in one chat.

    secret ─sip─▶ d0 ─sip─▶ d1 ─ … ─▶ d999 ─sip─▶ d1000
                       ◀── messages, newest first ──   └─ profile id

Each message takes the digest before the last one used. The holder of an id can compute all older
ones and none of the newer, so a later message proves that the same participant wrote it.
"""

from rookery.errors import CongestionError
from rookery.link.channels.message_id import ID_SIZE, digest, format_id, parse_id

DEPTH = 1000  # as the public JavaScript peer has it; also the longest gap that is followed


class IdChain:
    """Our own ids for one chat. The secret never leaves it."""

    def __init__(self, hashname: str, secret: bytes, depth: int = DEPTH) -> None:
        assert len(secret) == ID_SIZE
        assert 1 <= depth <= DEPTH
        value = digest(hashname, secret)
        values = []
        for _ in range(depth):
            value = digest(hashname, value)
            values.append(value)
        self._ids = [format_id(value) for value in reversed(values)]
        self._ages = {id_: age for age, id_ in enumerate(self._ids)}
        self._used = 1

    @property
    def profile_id(self) -> str:
        return self._ids[0]

    @property
    def last(self) -> str:
        """The id used last."""
        return self._ids[self._used - 1]

    def take(self) -> str:
        """The id for the next message, or CongestionError when the chain is used up."""
        if self._used == len(self._ids):
            raise CongestionError(f"this chat has taken all its {self._used - 1} messages")
        self._used += 1
        return self.last

    def age(self, id_: str) -> int | None:
        """How many ids were used before this one; None if it is not one of ours in use."""
        age = self._ages.get(id_)
        return age if age is not None and age < self._used else None


def steps(hashname: str, newer: str, older: str, steps_max: int = DEPTH) -> int | None:
    """How far down `hashname`'s chain `newer` lies from `older`; None if not within the bound."""
    value, target = parse_id(newer), parse_id(older)
    for step in range(steps_max + 1):
        if value == target:
            return step
        value = digest(hashname, value)
    return None
