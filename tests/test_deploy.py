"""What is given to systemd and procd is something they take, and starts what is there."""

import getpass
import os
import re
import shlex
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from rookery.cli.main import build
from tests.patience import PATIENCE_S

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
USERS = DEPLOY / "systemd" / "rookery-sysusers.conf"
FOLDERS = DEPLOY / "systemd" / "rookery-tmpfiles.conf"
EXPOSURE_MAX = 1.5
FLASH_SAVER = "/var/run/rookery"

# As much of OpenWrt's shell library as the script uses: one section, and the command on stdout.
RC_COMMON = """\
config_load() { [ "$1" = rookery ]; }
config_foreach() { "$1" attic; }
config_get() { eval "$1=\\"\\${option_$3-${4-}}\\""; }
procd_open_instance() { :; }
procd_set_param() {
  case "$1" in command) shift; printf '%s\\n' "$@" ;; *) echo "$*" >> parameters ;; esac
}
procd_append_param() { shift; printf '%s\\n' "$@"; }
procd_close_instance() { :; }
procd_add_reload_trigger() { :; }
user_exists() { [ "$1" != "${absent-}" ]; }
group_add_next() { echo 32768; }
user_add() { echo "user $*" >> parameters; }
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


def systemd(program: str) -> str:
    """Debian's package systemd has it, which .ci/packages installs; nothing of it has to run."""
    found = shutil.which(program)
    if found is None and os.environ.get("CI") != "true":
        pytest.skip(f"{program} is not installed")
    assert found is not None
    return found


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_the_unit(unit: Path, tmp_path: Path) -> None:
    verify = systemd("systemd-analyze")
    program = shutil.which("true")
    text = unit.read_text().replace("/usr/local/lib/rookery/bin/rookery", str(program))
    copy = tmp_path / unit.name
    copy.write_text(text)
    said = subprocess.run(
        [verify, "verify", copy], capture_output=True, text=True, timeout=PATIENCE_S
    )
    about_it = [line for line in said.stderr.splitlines() if unit.name in line]
    assert about_it == []


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_rates_the_unit_as_little_exposed(unit: Path) -> None:
    said = subprocess.run(
        [systemd("systemd-analyze"), "security", "--offline=true", "--no-pager", unit],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", said.stdout)
    assert found is not None, said.stderr
    assert float(found[1]) <= EXPOSURE_MAX


def settings(unit: Path, name: str) -> list[str]:
    return [
        value
        for key, _, value in (line.partition("=") for line in unit.read_text().splitlines())
        if key == name
    ]


@pytest.mark.parametrize("name", ["User", "StateDirectory"])
def test_no_two_units_share_a_user_or_a_state_folder(name: str) -> None:
    values = [settings(unit, name) for unit in UNITS]
    assert all(len(each) == 1 for each in values)
    assert len({each for (each,) in values}) == len(UNITS)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_root_writes_no_file_into_a_folder_that_a_program_owns(unit: Path) -> None:
    """systemd follows symbolic links there, and one program could have it overwrite any file."""
    roots_own = re.compile(r"d (/run/\S+) +\d+ root +root")
    folders = {Path(each) for each in roots_own.findall(FOLDERS.read_text())}
    for value in settings(unit, "StandardOutput"):
        assert Path(value.partition(":")[2]).parent in folders


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """The root of a system on which both files were installed."""
    if os.geteuid() != 0:
        pytest.skip("only root can make users and their folders")
    (tmp_path / "etc").mkdir()
    for command in (["systemd-sysusers"], ["systemd-tmpfiles", "--create"]):
        file = USERS if command == ["systemd-sysusers"] else FOLDERS
        subprocess.run(
            [systemd(command[0]), f"--root={tmp_path}", *command[1:], file],
            check=True,
            capture_output=True,
            timeout=PATIENCE_S,
        )
    return tmp_path


def table(file: Path) -> dict[str, list[str]]:
    """The lines of passwd or group by their names."""
    lines = [line.split(":") for line in file.read_text().splitlines()]
    return {name: rest for name, *rest in lines}


def test_each_unit_has_its_user(system: Path) -> None:
    users = table(system / "etc" / "passwd")
    assert {user for unit in UNITS for user in settings(unit, "User")} == users.keys()


def test_users_share_what_hub_and_lake_need_of_each_other_and_nothing_else(system: Path) -> None:
    groups = table(system / "etc" / "group")
    assert {name: rest[-1] for name, rest in groups.items() if rest[-1]} == {
        "rookery-hub": "rookery-lake",
        "rookery-node": "rookery-lake",
        "rookery-lake": "rookery-hub",
    }
    numbers = {int(rest[1]): name for name, rest in groups.items()}
    found = {
        str(path.relative_to(system / "var/lib")): (
            stat.S_IMODE(path.stat().st_mode),
            numbers[path.stat().st_gid],
        )
        for path in (system / "var/lib").rglob("*")
    }
    assert found == {
        "rookery-hub": (0o710, "rookery-hub"),
        "rookery-hub/spool": (0o3770, "rookery-hub"),
        "rookery-node": (0o710, "rookery-node"),
        "rookery-node/observed": (0o710, "rookery-node"),
        "rookery-node/observed/spool": (0o3770, "rookery-node"),
    }


@pytest.fixture
def router(tmp_path: Path) -> Path:
    """A folder with the script, and a stand-in for the folders that a router has."""
    script = (DEPLOY / "openwrt" / "rookery-agent").read_text()
    for path, name in ((FLASH_SAVER, "run"), ("/etc/rookery/agent", "id")):
        assert path in script
        script = script.replace(path, str(tmp_path / name))
    (tmp_path / "rookery-agent").write_text(script)
    (tmp_path / "rc.common").write_text(RC_COMMON)
    return tmp_path


def procd_command(router: Path, absent: str = "", **options: str) -> list[str]:
    given = {f"option_{name}": value for name, value in options.items()}
    given.setdefault("option_user", "nobody" if os.geteuid() == 0 else getpass.getuser())
    said = subprocess.run(
        ["sh", "-eu", "-c", ". ./rc.common; . ./rookery-agent; start_service"],
        cwd=router,
        env={"PATH": os.environ["PATH"], "absent": absent, **given},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    return said.stdout.splitlines()


def test_procd_starts_what_there_is(router: Path) -> None:
    program, *words = procd_command(router)
    assert program == "/usr/bin/rookery"
    assert words[:3] == ["agent", "--hub", "/etc/rookery/hub.link"]
    assert "--mac" not in words
    assert is_taken(words)


def test_procd_hands_over_what_is_configured(router: Path) -> None:
    _, *words = procd_command(router, mac="02:fc:00:00:00:01", allow_exec="/etc/my allowed")
    assert words[-4:] == ["--allow-exec", "/etc/my allowed", "--mac", "02:fc:00:00:00:01"]
    assert is_taken(words)


def test_procd_runs_it_as_a_user_without_privileges(router: Path) -> None:
    user = "nobody" if os.geteuid() == 0 else getpass.getuser()
    procd_command(router, absent=user)
    parameters = (router / "parameters").read_text().splitlines()
    assert parameters[0] == f"user {user}  32768 rookery agent {router / 'run'}"
    assert {f"user {user}", f"group {user}", "no_new_privs 1"} <= set(parameters)


def test_procd_runs_it_as_root_only_when_told(router: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give it a folder of root's")
    procd_command(router, user="root")
    assert "no_new_privs 1" not in (router / "parameters").read_text()


def test_the_script_makes_folders_for_its_user_alone(router: Path) -> None:
    (router / "id").mkdir()
    (router / "id" / "identity.json").touch()  # by an earlier version, as root
    (router / "code").touch()
    procd_command(router, claim_file=str(router / "code"))
    paths = [router / name for name in ("id", "run", "id/identity.json", "code")]
    owner = "nobody" if os.geteuid() == 0 else getpass.getuser()
    assert {path.owner() for path in paths} == {owner}
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths[:2]] == [0o700, 0o700]


@pytest.mark.parametrize("name", ["id", "run"])
def test_the_script_follows_no_link_to_a_folder(router: Path, name: str) -> None:
    (router / "elsewhere").mkdir(mode=0o755)
    (router / name).symlink_to("elsewhere")
    with pytest.raises(subprocess.CalledProcessError):
        procd_command(router)
    assert stat.S_IMODE((router / "elsewhere").stat().st_mode) == 0o755


def test_the_script_uses_no_folder_that_others_could_make_first() -> None:
    script = (DEPLOY / "openwrt" / "rookery-agent").read_text()
    assert re.search(r"(?<!Unlike )/tmp\b", script) is None
