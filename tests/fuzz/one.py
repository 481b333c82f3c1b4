"""Fuzzes one target in this process, with libFuzzer's options; `run` starts it."""

import resource
import sys

import atheris

with atheris.instrument_imports(include=["rookery"]):
    from tests.fuzz.targets import TARGETS

GROWTH_MAX_KB = 64 << 10  # by one input, or bit by bit in hours
WARM_UP = 1000  # inputs, until caches and keys are there


def main() -> None:
    target = TARGETS[sys.argv.pop(1)]
    count = at_first = 0

    def run(data: bytes) -> None:
        nonlocal count, at_first
        target(data)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        count += 1
        if count <= WARM_UP:
            at_first = memory
        grown = memory - at_first
        assert grown < GROWTH_MAX_KB, f"{grown} KB more than after {WARM_UP} inputs"

    atheris.Setup(sys.argv, run)
    atheris.Fuzz()


main()
