"""Environments as users have them: a lock and the wheel in an empty one, outside the checkout.

Everything is fetched once, with the largest set; all others are then installed from uv's cache.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cli.program import Outcome, Running

ROOT = Path(__file__).parents[2]
LARGEST = "all"
TIMEOUT_S = 600.0  # only a hang takes as long

_UV = Path(sys.executable).parent / "uv"
_PIN = re.compile(r"^([^\s=]+==[^\s;\\]+)(?:\s*;\s*([^\\\n]+?))?\s*\\?$", re.MULTILINE)
# What uv says when nobody answers; a lock that does not fit is told in other words.
_UNREACHABLE = re.compile(r"error sending request|operation timed out")
_LISTING = (
    "import importlib.metadata as m, json; "
    "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
)


@dataclass(frozen=True)
class Environment:
    """One with an extra of rookery, and programs that see nothing else of Python or Java."""

    extra: str  # "none" for none
    folder: Path
    variables: Mapping[str, str] = field(repr=False)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def program(self) -> Path:
        return self.folder / "bin" / "rookery"

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python3*/site-packages")
        return found

    def rookery(self, *arguments: str | Path, cwd: Path, stdin: bytes = b"") -> Outcome:
        return self.run(self.program, *arguments, cwd=cwd, stdin=stdin)

    def run(self, *command: str | Path, cwd: Path, stdin: bytes = b"") -> Outcome:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            cwd=cwd,
            env=self._environment(cwd),
            timeout=TIMEOUT_S,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    @contextmanager
    def running(self, *arguments: str | Path, cwd: Path) -> Iterator[Running]:
        """`rookery`, ended with the block."""
        with self.process(self.program, *arguments, cwd=cwd) as process:
            yield Running(process)

    @contextmanager
    def process(
        self, *command: str | Path, cwd: Path, settings: Mapping[str, str] | None = None
    ) -> Iterator["subprocess.Popen[bytes]"]:
        with (cwd / "errors").open("ab") as errors:
            process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=cwd,
                env={**self._environment(cwd), **(settings or {})},
                start_new_session=True,
            )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def distributions(self) -> dict[str, str]:
        """What is installed, with versions."""
        listed = self.run(self.python, "-c", _LISTING, cwd=self.folder)
        found: dict[str, str] = json.loads(listed.out)
        return {canonicalize_name(name): version for name, version in found.items()}

    def _environment(self, home: Path) -> dict[str, str]:
        return {**self.variables, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8"}


class Installer:
    """Makes environments in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, Environment] = {}
        self._wheel: Path | None = None
        self._programs = folder / "programs"
        link_programs(self._programs)

    def environment(self, extra: str) -> Environment:
        """Empty but for the extra, and made once."""
        if LARGEST not in self._made:
            self._made[LARGEST] = self._make(LARGEST)
        if extra not in self._made:
            self._made[extra] = self._make(extra)
        return self._made[extra]

    def _make(self, extra: str) -> Environment:
        made = Environment(extra, self._folder / extra, self._variables(extra))
        uv("venv", "--quiet", "--python", sys.executable, str(made.folder))
        where = ("--python", str(made.python))
        install = ("pip", "install", "--quiet", *where)
        locked = (*install, "--no-deps", "--require-hashes", "--requirement", str(lock(extra)))
        if uv(*locked, "--offline", is_trial=True):
            uv(*locked)
        uv(*install, "--offline", "--no-deps", str(self._built()))
        uv("pip", "check", *where)
        return made

    def _built(self) -> Path:
        """The wheel, without compiled modules: they change nothing of what it needs."""
        if self._wheel is None:
            done = subprocess.run(
                [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", self._folder],
                cwd=ROOT,
                env={**os.environ, "ROOKERY_COMPILED": "0"},
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
            assert done.returncode == 0, done.stderr.decode()
            (self._wheel,) = self._folder.glob("*.whl")
        return self._wheel

    def _variables(self, extra: str) -> dict[str, str]:
        own = self._folder / extra / "bin"
        kept = {name: os.environ[name] for name in ("JDK_JAVA_OPTIONS",) if name in os.environ}
        return {**kept, "PATH": f"{own}{os.pathsep}{self._programs}", "PYTHONUNBUFFERED": "1"}


def lock(extra: str) -> Path:
    return ROOT / "requirements" / ("base.lock" if extra == "none" else f"{extra}.lock")


def pins(extra: str) -> dict[str, str]:
    """What a lock says should be on this machine, with versions."""
    pinned = [Requirement(" ; ".join(filter(None, each))) for each in _PIN.findall(_text(extra))]
    return {
        canonicalize_name(each.name): str(each.specifier).removeprefix("==")
        for each in pinned
        if each.marker is None or each.marker.evaluate()
    }


def extras() -> list[str]:
    """All that users may ask for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return ["none", *sorted(set(project["optional-dependencies"]) - {"dev"})]


def uv(*arguments: str, is_trial: bool = False) -> bool:
    """Whether it failed, which only trials may; skips where no registry can be reached."""
    done = subprocess.run(
        [_UV, "--no-config", *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode and not is_trial:
        if _UNREACHABLE.search(done.stderr):
            pytest.skip(f"no registry can be reached: {done.stderr.splitlines()[0]}")
        raise AssertionError(done.stderr)
    return done.returncode != 0


def link_programs(folder: Path) -> None:
    """The programs of this machine, without its Java and without the tests' own environment."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        if not Path(place).is_dir() or (Path(place) / "rookery").exists():
            continue
        for program in Path(place).iterdir():
            link = folder / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)


def _text(extra: str) -> str:
    return lock(extra).read_text()
