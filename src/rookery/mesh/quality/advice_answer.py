"""The service `advice`: a member's answer to a request for the advice that it follows.

| answer | artifact |        the asker's meta says which one it has: {"issued_ms": …}
|   1    |    n     |        an artifact comes with ARTIFACT alone
"""

from collections.abc import Mapping
from enum import IntEnum

from rookery.errors import DecodeError
from rookery.wire.artifact import ARTIFACT_SIZE_MAX

ANSWER_SIZE_MAX = 1 + ARTIFACT_SIZE_MAX


class AdviceAnswer(IntEnum):
    """The first byte."""

    NONE = 0  # it follows no advice
    SAME = 1  # the one that the asker has
    ARTIFACT = 2


def answer(meta: Mapping[str, object], issued_ms: int, artifact: bytes | None) -> bytes:
    """The answer to a request, by the advice that we follow."""
    if artifact is None:
        return bytes([AdviceAnswer.NONE])
    if meta.get("issued_ms") == issued_ms:
        return bytes([AdviceAnswer.SAME])
    return bytes([AdviceAnswer.ARTIFACT]) + artifact


def parse_answer(data: bytes) -> tuple[AdviceAnswer, bytes]:
    """The answer, and the artifact if it is one; DecodeError for anything else."""
    if not data or len(data) > ANSWER_SIZE_MAX:
        raise DecodeError(f"{len(data)} bytes are no answer about advice")
    try:
        found = AdviceAnswer(data[0])
    except ValueError as error:
        raise DecodeError(f"{data[0]} is no answer about advice") from error
    if (found is AdviceAnswer.ARTIFACT) == (len(data) == 1):
        raise DecodeError("an answer about advice that contradicts itself")
    return found, data[1:]
