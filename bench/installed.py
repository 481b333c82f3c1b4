"""`python -m bench.installed [PART …]`: the bench with rookery as anybody installs it.

It builds the wheel of this checkout, installs it into build/bench-env beside the locked
dependencies, and runs `python -m bench` there. What is there already and still the same stays.
Needs nothing but Python and its standard library.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

from bench.options import parse

ROOT = Path(__file__).parent.parent
HOME = ROOT / "build" / "bench-env"
PYTHON = HOME / "bin" / "python"
LOCK = ROOT / "requirements" / "dev.lock"

_INSTALL_S = 1800.0
_COMPILED = "ROOKERY_COMPILED"  # what hatch_build.py looks at


def main() -> None:
    parse()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    prepare(environment)
    os.chdir(ROOT)
    os.execve(PYTHON, [str(PYTHON), "-m", "bench", *sys.argv[1:]], environment)


def prepare(environment: dict[str, str]) -> None:
    """Have the environment ready."""
    locked = _digest([LOCK], platform.python_version())
    if _stamp("lock") != locked:
        print(f"installing {LOCK.relative_to(ROOT)} into {HOME.relative_to(ROOT)} …", flush=True)
        venv.create(HOME, with_pip=True, clear=True)
        _pip(environment, "install", "--no-deps", "--require-hashes", "-r", str(LOCK))
        _set_stamp("lock", locked)
    sources = [path for path in (ROOT / "src").rglob("*") if "__pycache__" not in path.parts]
    sources += [ROOT / "pyproject.toml", ROOT / "hatch_build.py"]
    sources += (ROOT / "build_cores").glob("*.py")
    built = _digest(sources, locked, environment.get(_COMPILED, ""))
    if _stamp("wheel") != built:
        print("building and installing rookery's wheel …", flush=True)
        _install_wheel(environment)
        _set_stamp("wheel", built)


def _install_wheel(environment: dict[str, str]) -> None:
    folder = HOME / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    options = ("--no-deps", "--no-build-isolation")
    _pip(environment, "wheel", *options, "-w", str(folder), str(ROOT))
    (wheel,) = folder.glob("rookery-*.whl")
    _pip(environment, "install", "--no-deps", "--force-reinstall", str(wheel))
    print(f"measuring {wheel.name}", flush=True)


def _pip(environment: dict[str, str], *words: str) -> None:
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", words[0], "-qq", *words[1:]]
    try:
        subprocess.run(command, env=environment, cwd=ROOT, check=True, timeout=_INSTALL_S)
    except subprocess.CalledProcessError as error:
        sys.exit(f"pip {words[0]} failed with exit code {error.returncode}")
    except subprocess.TimeoutExpired:
        sys.exit(f"pip {words[0]} was given up after {_INSTALL_S / 60:.0f} minutes")


def _digest(files: Iterable[Path], *words: str) -> str:
    """Of names and contents, and of words that matter as well."""
    digest = hashlib.sha256(repr(words).encode())
    for path in sorted(path for path in files if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(ROOT)} {content}\n".encode())
    return digest.hexdigest()


def _stamp(name: str) -> str:
    path = HOME / f".{name}"
    return path.read_text() if path.exists() else ""


def _set_stamp(name: str, digest: str) -> None:
    (HOME / f".{name}").write_text(digest)


if __name__ == "__main__":
    main()
