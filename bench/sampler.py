"""A sampling profiler: every few milliseconds of processor time, note where the main thread is.

Sampling leaves the proportions as they are, where a tracing profiler makes small functions look
dear. Time inside C (a system call, a cipher) counts for the line that called it.
"""

import signal
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from linecache import getline
from pathlib import PurePath
from types import CodeType, FrameType

_INTERVAL_S = 0.001  # most kernels round it up to their tick


@dataclass(frozen=True, slots=True)
class Share:
    """A place in the code and its part of all samples."""

    place: str
    own: float
    total: float  # with everything called from there


@dataclass(slots=True)
class Samples:
    """What was seen."""

    count: int = 0
    functions: Counter[str] = field(default_factory=Counter)  # innermost only
    callers: Counter[str] = field(default_factory=Counter)  # anywhere on the stack
    lines: Counter[str] = field(default_factory=Counter)

    def top_functions(self, count: int) -> list[Share]:
        top = self.functions.most_common(count)
        return [Share(p, n / self.count, self.callers[p] / self.count) for p, n in top]

    def top_lines(self, count: int) -> list[Share]:
        return [Share(p, n / self.count, n / self.count) for p, n in self.lines.most_common(count)]


class Sampler:
    """`with Sampler() as samples:` in the main thread."""

    def __init__(self) -> None:
        self._samples = Samples()

    def __enter__(self) -> Samples:
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL_S, _INTERVAL_S)
        return self._samples

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)

    def _sample(self, _: int, frame: FrameType | None) -> None:
        if frame is None:
            return
        samples = self._samples
        samples.count += 1
        samples.functions[_function(frame)] += 1
        samples.lines[_line(frame)] += 1
        seen = set()
        caller: FrameType | None = frame
        while caller is not None:
            seen.add(_function(caller))
            caller = caller.f_back
        samples.callers.update(seen)


def _function(frame: FrameType) -> str:
    return _name(frame.f_code)


@cache
def _name(code: CodeType) -> str:
    return f"{PurePath(code.co_filename).stem}.{code.co_qualname}"


def _line(frame: FrameType) -> str:
    source = getline(
        frame.f_code.co_filename, frame.f_lineno or 0
    ).strip()  # None between two lines
    return f"{_function(frame)}: {source}"
