"""Runs targets, each in a process of its own, from a corpus that stays.

python -m tests.fuzz.run SECONDS [NAME …]
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.seeds import seeds
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "fuzz"
MEMORY_MAX_MB = 1024

# Linux counts the peak memory of the process that becomes a program as the program's own. This
# shell forks once more, and is small.
FORKED = ["sh", "-c", '"$@"; exit $?', "sh"]
_EXECUTIONS = re.compile(r"stat::number_of_executed_units:\s+(\d+)")
_RATE = re.compile(r"stat::average_exec_per_sec:\s+(\d+)")
_MEMORY = re.compile(r"stat::peak_rss_mb:\s+(\d+)")


@dataclass(frozen=True, slots=True)
class Outcome:
    is_clean: bool
    executions: int
    rate: int  # a second
    memory_mb: int
    text: str


def fuzz(name: str, seconds: float, folder: Path) -> Outcome:
    """One target for so long; what it finds is in `folder`, and how to repeat it in the text."""
    slug = name.replace(":", "-")
    given, corpus, findings = folder / "seeds", folder / slug, folder / "findings"
    for each in (given, corpus, findings):
        each.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (given / f"{number:05}").write_bytes(seed)
    options = [
        f"-max_total_time={max(1, round(seconds))}",
        f"-rss_limit_mb={MEMORY_MAX_MB}",
        "-timeout=10",
        "-print_final_stats=1",
        f"-artifact_prefix={findings}/{slug}-",
    ]
    fuzzer = [sys.executable, "-m", "tests.fuzz.one", name, *options, str(corpus), str(given)]
    done = subprocess.run([*FORKED, *fuzzer], cwd=ROOT, capture_output=True, check=False)
    text = (done.stdout + done.stderr).decode(errors="replace")
    figures = [_figure(each, text) for each in (_EXECUTIONS, _RATE, _MEMORY)]
    if done.returncode:
        text += f"\nagain: {sys.executable} -m tests.fuzz.one {name} FILE, one of {findings}\n"
    return Outcome(done.returncode == 0, figures[0], figures[1], figures[2], text)


def main() -> int:
    seconds, names = float(sys.argv[1]), sys.argv[2:] or sorted(TARGETS)
    if unknown := sorted(set(names) - TARGETS.keys()):
        print(f"no target {', '.join(unknown)}; see tests/fuzz/targets.py", file=sys.stderr)
        return 2
    FOLDER.mkdir(parents=True, exist_ok=True)
    found = 0
    for name in names:
        outcome = fuzz(name, seconds, FOLDER)
        word = "ok" if outcome.is_clean else "FOUND"
        figures = f"{outcome.executions:,} executions, {outcome.rate:,}/s, {outcome.memory_mb} MB"
        print(f"{word:5} {name}: {figures}", flush=True)
        if not outcome.is_clean:
            found += 1
            print("\n".join(outcome.text.splitlines()[-60:]), flush=True)
    return 1 if found else 0


def _figure(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return int(match[1]) if match else 0


if __name__ == "__main__":
    sys.exit(main())
