"""What mypyc makes of the modules: C, always the same for the same sources."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from build_cores.modules import ROOT, sources
from build_cores.toolchain import CannotCompileError

GROUP = "rookery"

_FOUND = "extensions.json"
# What is missing is ignored, and so a comment that says so has nothing left to ignore.
_OPTIONS = ("--ignore-missing-imports", "--no-warn-unused-ignores", f"--cache-dir={os.devnull}")
_REASON_MAX = 300


class Extension(NamedTuple):
    """A shared library to be compiled."""

    name: str
    sources: list[str]
    include_dirs: list[str]


def generated(folder: Path) -> list[Extension]:
    """The library of all modules, then one for each that takes it out of there.

    mypyc runs in a process of its own: it may end it, and needs memory that compilers then lack.
    """
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "build_cores.generated", str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        lines = f"{done.stderr}\n{done.stdout}".split("\n")
        reason = next((line for line in lines if "rror:" in line), f"ended by {done.returncode}")
        raise CannotCompileError(f"mypyc: {reason[:_REASON_MAX]}")
    return [Extension(*each) for each in json.loads((folder / _FOUND).read_text())]


def _generate(folder: str) -> None:
    from mypyc.build import mypycify

    extensions = mypycify(
        [*_OPTIONS, *(str(path.relative_to(ROOT)) for path in sources())],
        target_dir=folder,
        group_name=GROUP,
        multi_file=True,
    )
    found = [Extension(each.name, each.sources, each.include_dirs) for each in extensions]
    Path(folder, _FOUND).write_text(json.dumps(found))


if __name__ == "__main__":
    _generate(sys.argv[1])
