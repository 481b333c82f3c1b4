"""Compiled cores: the modules that a busy node spends its time in, as extension modules.

    python hatch_build.py FOLDER        the package with them in FOLDER, for PYTHONPATH
    ROOKERY_COMPILED=1 pip wheel .      a wheel with them, for this Python and machine

The sources lie beside them either way: they are what runs where nothing was compiled, and they do
the same. docs/decisions/0021-compiled-cores.md says how to write them.
"""

import argparse
import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent

# What profiles show, by package.
MODULES = {
    "wire": (
        "cloak",
        "crow_packet",
        "frame",
        "outbox_reader",
        "outbox_request",
        "tail",
        "tunnel",
        "tunnel_data",
        "tunnel_reader",
    ),
    "identity": ("cs40", "replay"),
    "link": ("endpoint", "exchange", "link", "rounds", "timers", "traffic"),
    "crow": ("delivery", "duplicates", "lanes", "node", "recent", "seqids", "tower"),
    "mesh": ("forwarding", "neighbour", "node", "standing_queue", "transit", "tunnelling", "watch"),
    "mesh.tunnel": (
        "congestion",
        "credit",
        "delivery",
        "dispatch",
        "engine",
        "inbound",
        "inflow",
        "intake",
        "notes",
        "outbound",
        "outflow",
        "packer",
        "ranges",
        "receiving",
        "reinjection",
        "round_trip",
        "scheduler",
        "send_buffer",
        "sending",
        "sent_packet",
        "stream",
        "stream_calls",
        "streams",
        "tunnel",
        "tunnels",
        "turns",
        "ways",
    ),
    "outbox": ("expiry", "intake", "peer", "pool", "request", "sending", "session", "working_list"),
    "fleet": ("lineage", "report_lane", "secret_cache", "secrets"),
    "hub": ("arrival", "datagram_port", "recent", "report_batch", "report_group"),
    "runtime": ("mesh", "pump", "residence", "tunnel_stream", "tunnels"),
    "runtime.crow": ("outcomes", "pump", "threshold", "tower", "udp_gate"),
    "runtime.outbox": ("conversation", "handling"),
    "runtime.gates": ("burst_socket", "connection", "framing", "segmentation", "tcp_gate"),
    "runtime.proxy": ("sluice", "socket_stream"),
}

_WISHED = "ROOKERY_COMPILED"
_OPTIMISATION = "2"
# What is missing is ignored, and so a comment that says so has nothing left to ignore.
_OPTIONS = ("--ignore-missing-imports", "--no-warn-unused-ignores")


class CompiledCores(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the extension modules to a wheel if they are wished for."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return ["mypy>=1.15", "setuptools>=75"] if _is_wished() else []

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        included = build_data["force_include"]
        if not _is_wished() or version == "editable" or not isinstance(included, dict):
            return
        self._folder = tempfile.TemporaryDirectory()
        built = Path(self._folder.name)
        compile_modules(built, optimisation=_OPTIMISATION)
        for path in (built / "lib").rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
            included[str(path)] = str(path.relative_to(built / "lib"))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, object], artifact_path: str) -> None:
        if _is_wished() and version != "editable":
            self._folder.cleanup()


def sources() -> list[Path]:
    """The modules to compile."""
    package = ROOT / "src" / "rookery"
    return [
        package.joinpath(*folder.split("."), f"{name}.py")
        for folder, names in MODULES.items()
        for name in names
    ]


def compile_modules(folder: Path, *, optimisation: str) -> None:
    """Leave the extension modules in `folder`/lib; exits with a message where that cannot be."""
    from mypyc.build import mypycify
    from setuptools import Distribution  # type: ignore[import-untyped]
    from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

    os.chdir(ROOT)  # where mypy finds its settings
    extensions = mypycify(
        [*_OPTIONS, *(str(path.relative_to(ROOT)) for path in sources())],
        opt_level=optimisation,
        debug_level="0",
        target_dir=str(folder / "c"),
        group_name="rookery",
    )
    if os.name == "posix":  # most of gcc's time would go to warnings about what nobody has written
        for extension in extensions:
            extension.extra_compile_args += ["-Wno-all", "-w"]
    command = build_ext(Distribution({"name": "rookery", "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.parallel = os.cpu_count()
    command.ensure_finalized()
    command.run()


def missing() -> str | None:
    """What is not there to compile with."""
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        return "no C compiler"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "no Python.h (Debian: python3-dev)"
    return None


def main() -> None:
    """Put the package and the extension modules into a folder."""
    parser = argparse.ArgumentParser(prog="python hatch_build.py", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--optimisation", default=_OPTIMISATION, help="0 to 3, as gcc has it")
    options = parser.parse_args()
    if (lack := missing()) is not None:
        sys.exit(f"nothing is compiled: there is {lack}; everything works as well, but slower")
    shutil.rmtree(options.folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as built:
        compile_modules(Path(built), optimisation=options.optimisation)
        shutil.copytree(
            ROOT / "src", options.folder, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
        shutil.copytree(Path(built) / "lib", options.folder, dirs_exist_ok=True)


def _is_wished() -> bool:
    return os.environ.get(_WISHED, "0") != "0"


if __name__ == "__main__":
    main()
