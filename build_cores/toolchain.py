"""The C compiler of this machine, and whether it can compile for this Python."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

SUFFIX: str = sysconfig.get_config_var("EXT_SUFFIX")

# Hidden names are called and inlined without a detour. Warnings would be about what nobody wrote.
_COMPILE = ("-O2", "-g0", "-w", "-DNDEBUG", "-fwrapv", "-fPIC", "-fvisibility=hidden")
_LINK = (
    ("-bundle", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared", "-s")
)
_TINY = """#include <Python.h>
static struct PyModuleDef tiny = {PyModuleDef_HEAD_INIT, "tiny"};
PyMODINIT_FUNC PyInit_tiny(void) { return PyModule_Create(&tiny); }
"""
_TINY_S = 60
_REASON_MAX = 300


class CannotCompileError(Exception):
    """Why nothing is compiled, in one line."""


class Toolchain:
    """The commands. CC, CFLAGS and LDFLAGS are heard."""

    def __init__(self) -> None:
        compiler, include = _compiler(), sysconfig.get_path("include")
        # No path of this machine is left in what is compiled.
        flags = (*_COMPILE, f"-I{include}", f"-ffile-prefix-map={include}=python")
        self.compile = (*compiler, *flags, *_words("CFLAGS"))
        self.link = (*compiler, *_LINK, *_words("LDFLAGS"))
        self.compile_and_link = (*self.compile, *_LINK, *_words("LDFLAGS"))


def missing() -> str | None:
    """What is not there to compile with, found out by compiling something tiny."""
    try:
        toolchain = Toolchain()
    except CannotCompileError as error:
        return str(error)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tiny.c").write_text(_TINY)
        command = (*toolchain.compile_and_link, "tiny.c", "-o", "tiny.so")
        reason = failure(command, Path(folder), timeout_s=_TINY_S)
    if reason is not None and "Python.h" in reason:
        return "no Python.h (Debian: python3-dev)"
    return reason


def failure(command: Sequence[str], folder: Path, *, timeout_s: float | None = None) -> str | None:
    """Run a command in `folder`; what it complains of first."""
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=timeout_s
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)[:_REASON_MAX]
    if done.returncode == 0:
        return None
    lines = done.stderr.splitlines()
    told = (line for line in lines if "rror: " in line and not line.startswith("collect2"))
    first = next(told, lines[0] if lines else "")
    return first[:_REASON_MAX] or f"{command[0]} ended with {done.returncode}"


def _compiler() -> list[str]:
    for named in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc"):
        if named and shutil.which(shlex.split(named)[0]):
            return shlex.split(named)
    raise CannotCompileError("no C compiler")


def _words(variable: str) -> list[str]:
    return shlex.split(os.environ.get(variable, ""))
