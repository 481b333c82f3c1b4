"""Fuzzes one target in this process, with libFuzzer's options; `run` starts it."""

import resource
import sys

import atheris

with atheris.instrument_imports(include=["rookery"]):
    from tests.fuzz.targets import TARGETS

INPUT_MEMORY_MAX_KB = 64 << 10  # that a single input may make the process grow by
WARM_UP = 1000  # inputs, until caches and keys are there


def main() -> None:
    target = TARGETS[sys.argv.pop(1)]
    count = 0

    def run(data: bytes) -> None:
        nonlocal count
        count += 1
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        target(data)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert count < WARM_UP or grown < INPUT_MEMORY_MAX_KB, f"one input takes {grown} KB"

    atheris.Setup(sys.argv, run)
    atheris.Fuzz()


main()
