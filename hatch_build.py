"""Wheels have compiled cores wherever those can be compiled, and are pure Python elsewhere.

ROOKERY_COMPILED=0 never compiles; ROOKERY_COMPILED=1 fails where nothing can be compiled. How to
compile is known to build_cores. A wheel without says why not, and `rookery --version` repeats it.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

REQUIRED = ("mypy>=2.4,<3", "setuptools>=80,<90")

_WISH = "ROOKERY_COMPILED"
_WHY_NOT = "rookery/not_compiled.txt"


class CannotCompileError(Exception):
    """Why a wheel is pure Python, in one line."""


class CompiledCores(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the extension modules to a wheel, or the reason why there are none."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """With those of rookery itself, whose types are compiled in."""
        if self._wish() == "0":
            return []
        try:
            self._compiler("--check")
        except CannotCompileError:
            return []
        return [*self.metadata.core.dependencies, *REQUIRED]

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        included = build_data["force_include"]
        if version == "editable" or not isinstance(included, dict):
            return
        try:
            modules = self._extension_modules()
        except CannotCompileError as error:
            self._explain(str(error), included)
            return
        included |= modules
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, object], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()

    def _extension_modules(self) -> dict[str, str]:
        """The files, and where they belong in the wheel."""
        if self._wish() == "0":
            raise CannotCompileError(f"{_WISH}=0")
        folder = Path(self._compiler())
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        paths = sorted(folder.rglob(f"*{suffix}"))
        return {str(path): path.relative_to(folder).as_posix() for path in paths}

    def _explain(self, reason: str, included: dict[str, str]) -> None:
        if self._wish() == "1":
            self.app.abort(f"{_WISH}=1, but rookery cannot be compiled: {reason}")
        self.app.display_warning(f"rookery is not compiled and will be slower: {reason}")
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name, "reason")
        path.write_text(f"{reason}\n")
        included[str(path)] = _WHY_NOT

    def _wish(self) -> str:
        wish = os.environ.get(_WISH, "")
        if wish not in ("", "0", "1"):
            self.app.abort(f"{_WISH}={wish}: give 0 or 1")
        return wish

    def _compiler(self, *arguments: str) -> str:
        """What build_cores prints; its progress is shown as it comes."""
        if os.name != "posix":
            raise CannotCompileError(f"not tried on {sys.platform}")
        command = [sys.executable, "-m", "build_cores", *arguments]
        line = ""
        with subprocess.Popen(
            command, cwd=self.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            for line in process.stderr:
                self.app.display_info(line.rstrip())
            answer = process.stdout.read()
        if process.returncode != 0:
            raise CannotCompileError(line.strip() or f"build_cores ended with {process.returncode}")
        return answer.strip()
