"""Rejected frames: counts of refused frames by sender and reason.

The table stays small whatever is sent: one member has a few reasons and then only `MORE`, outsiders
have a few names and are then all counted as `STRANGERS`, and when it is full the rarest entry goes.
"""

from collections import Counter

REFUSED_MAX = 512
REASONS_MAX = 16  # of one culprit
OUTSIDERS_MAX = 64
STRANGERS = "strangers"
MORE = "for other reasons"

_NAME_SIZE = 8


class RejectedFrames(Counter[tuple[str, str]]):
    """Counts by the beginning of the culprit's hashname, and the reason."""

    def __init__(self) -> None:
        super().__init__()
        self._reasons: Counter[str] = Counter()  # of each culprit, how many
        self._outsiders: set[str] = set()

    def note(self, hashname: str, reason: str, *, is_member: bool) -> None:
        name = self._name(hashname[:_NAME_SIZE], is_member=is_member)
        key = name, reason
        if key not in self and self._reasons[name] >= REASONS_MAX - 1:
            key = name, MORE
        if key not in self:
            if len(self) >= REFUSED_MAX:
                self._drop(min(self, key=self.__getitem__))
            self._reasons[name] += 1
        self[key] += 1

    def _name(self, name: str, *, is_member: bool) -> str:
        if is_member or self._reasons[name]:
            return name
        if len(self._outsiders) >= OUTSIDERS_MAX:
            return STRANGERS
        self._outsiders.add(name)
        return name

    def _drop(self, key: tuple[str, str]) -> None:
        del self[key]
        name, _ = key
        self._reasons[name] -= 1
        if not self._reasons[name]:
            del self._reasons[name]
            self._outsiders.discard(name)
