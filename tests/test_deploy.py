"""What is given to systemd and procd is something they take, and starts what is there."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from rookery.cli.main import build
from tests.patience import PATIENCE_S

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))

# As much of OpenWrt's shell library as the script uses: one section, and the command on stdout.
RC_COMMON = """\
config_load() { [ "$1" = rookery ]; }
config_foreach() { "$1" attic; }
config_get() { eval "$1=\\"\\${option_$3-${4-}}\\""; }
procd_open_instance() { :; }
procd_set_param() { [ "$1" != command ] || { shift; printf '%s\\n' "$@"; }; }
procd_append_param() { shift; printf '%s\\n' "$@"; }
procd_close_instance() { :; }
procd_add_reload_trigger() { :; }
"""


def is_taken(words: list[str]) -> bool:
    """Whether the program understands such a command line."""
    build().parse_args(words, exit_on_error=False, print_error=False)
    return True


def commands(unit: Path) -> list[list[str]]:
    """Command lines that a unit starts, without the program and what else it may be told."""
    found = []
    for line in unit.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "ExecStart":
            program, *words = shlex.split(value)
            assert program.endswith("/rookery")
            found.append([word for word in words if not word.startswith("$")])
    return found


def suggestions(unit: Path) -> list[list[str]]:
    """Options that a unit's remarks show, such as `ROOKERY_HUB=--lake lake`."""
    remarks = [line.removeprefix("#").strip() for line in unit.read_text().splitlines()]
    return [shlex.split(line.partition("=")[2]) for line in remarks if line.startswith("ROOKERY_")]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_what_there_is(unit: Path) -> None:
    (command,) = commands(unit)
    assert is_taken(command)
    assert suggestions(unit)
    for more in suggestions(unit):
        assert is_taken([*command, *more])


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_the_unit(unit: Path, tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not installed")
    program = shutil.which("true")
    text = unit.read_text().replace("/usr/local/lib/rookery/bin/rookery", str(program))
    copy = tmp_path / unit.name
    copy.write_text(text)
    said = subprocess.run(
        [verify, "verify", copy], capture_output=True, text=True, timeout=PATIENCE_S
    )
    about_it = [line for line in said.stderr.splitlines() if unit.name in line]
    assert about_it == []


def procd_command(tmp_path: Path, **options: str) -> list[str]:
    script = DEPLOY / "openwrt" / "rookery-agent"
    library = tmp_path / "rc.common"
    library.write_text(RC_COMMON)
    given = {f"option_{name}": value for name, value in options.items()}
    said = subprocess.run(
        ["sh", "-eu", "-c", ". ./rc.common; . " + shlex.quote(str(script)) + "; start_service"],
        cwd=tmp_path,
        env=given,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return said.stdout.splitlines()


def test_procd_starts_what_there_is(tmp_path: Path) -> None:
    program, *words = procd_command(tmp_path)
    assert program == "/usr/bin/rookery"
    assert words[:3] == ["agent", "--hub", "/etc/rookery/hub.link"]
    assert "--mac" not in words
    assert is_taken(words)


def test_procd_hands_over_what_is_configured(tmp_path: Path) -> None:
    _, *words = procd_command(tmp_path, mac="02:fc:00:00:00:01", allow_exec="/etc/my allowed")
    assert words[-4:] == ["--allow-exec", "/etc/my allowed", "--mac", "02:fc:00:00:00:01"]
    assert is_taken(words)
