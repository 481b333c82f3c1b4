"""A demo whose lake loses its JVM and then its disk: told in a line each, and made up for.

It is the demo of the tour, in a mount namespace of its own, so that its lake can be put on a disk
that is full; nothing of that is left when its processes are gone.
"""

import json
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from rookery.wire.link.lob import JsonObject
from tests.e2e.demo.conftest import RUN_S
from tests.e2e.demo.living import STOP_S, Living, eventually
from tests.lake.test_full_disk import has_namespaces

pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.slow]

ROOM_KB = 64  # less than one run writes
LOG = "logs/spark.log"

# A disk with the lake's files and a little more, in the place of the lake.
FULL = """
set -eu
mkdir disk
mount -t tmpfs -o size=1g none disk
cp -a lake/. disk/
used=$(du -sk disk | cut -f1)
mount -o remount,size=$((used + ROOM))k disk
mount --move disk lake
"""
LARGER = "mount -o remount,size=1g lake"


def ask_for_a_run(demo: Living) -> None:
    """Now: the next one would begin in an hour."""
    [pipeline] = filter(is_pipeline, demo.processes())
    pipeline.send_signal(signal.SIGUSR1)


def is_pipeline(process: psutil.Process) -> bool:
    try:
        return {"lake", "run"} <= set(process.cmdline())
    except psutil.Error:  # it has ended
        return False


def run(demo: Living, *, ok: bool) -> JsonObject:
    """The next one, which has to end like that."""
    event = demo.event("run", RUN_S)
    assert event["ok"] is ok, event
    return event


def shown(demo: Living) -> JsonObject:
    """The lake's last run, as the hub's page of itself has it."""
    found: JsonObject = json.loads(demo.page("/api/v1/system"))["lake_run"]
    return found


def in_its_folder(demo: Living, script: str) -> None:
    """Among the demo's mounts."""
    command = ["nsenter", "--target", str(demo.pid), "--user", "--mount", "--preserve-credentials"]
    script = f"cd '{demo.folder}'; {script}"
    subprocess.run([*command, "sh", "-c", script], check=True, timeout=120)


def jvm(demo: Living) -> psutil.Process:
    [found] = [each for each in demo.processes() if each.name() == "java"]
    return found


def test_a_jvm_that_is_killed_between_runs_is_replaced_by_the_next(demo: Living) -> None:
    first = jvm(demo)
    first.kill()
    eventually(lambda: first.status() == psutil.STATUS_ZOMBIE)
    ask_for_a_run(demo)
    run(demo, ok=True)
    [told] = [each for each in demo.remarks if "SIGKILL" in each]
    assert told.startswith("Spark's JVM was ended by SIGKILL; a new one is started; see ")
    assert told.endswith(f"{LOG}")
    assert jvm(demo) != first


def test_a_jvm_that_is_killed_in_a_run_is_told_of_and_replaced(demo: Living) -> None:
    ask_for_a_run(demo)
    demo.event("step", RUN_S)  # the first one, and others follow it
    jvm(demo).kill()
    failed = run(demo, ok=False)
    assert failed["error"] == "Spark's JVM was ended by SIGKILL"
    assert failed["step"]
    log = Path(str(failed["log"]))
    assert log == demo.folder / LOG
    assert f"{failed['step']} failed" in log.read_text()
    told = json.loads(demo.run("lake", "status", "--data", ".demo/lake", "--json").splitlines()[-1])
    assert told["is"] == "run"
    run(demo, ok=True)
    assert "<main" in demo.page("/fleet")


@pytest.mark.skipif(not has_namespaces(), reason="no mount namespaces here")
def test_a_disk_that_is_full_is_told_of_and_waited_for(demo: Living) -> None:
    in_its_folder(demo, FULL.replace("ROOM", str(ROOM_KB)))
    ask_for_a_run(demo)
    failed = run(demo, ok=False)
    assert "No space left on device" in str(failed["error"])
    assert failed["step"]
    assert "No space left on device" in Path(str(failed["log"])).read_text()
    assert "<main" in demo.page("/fleet")
    told = shown(demo)
    assert (told["ok"], told["log"]) == (False, failed["log"])
    in_its_folder(demo, LARGER)
    ask_for_a_run(demo)
    run(demo, ok=True)
    assert shown(demo)["ok"]
    assert psutil.pid_exists(demo.pid)


def test_ctrl_c_ends_it_and_leaves_nothing_behind(demo: Living) -> None:
    """The last of them: nobody may ask for it afterwards."""
    processes = demo.processes()
    assert demo.interrupt() == 0
    _, alive = psutil.wait_procs(processes, timeout=STOP_S)
    assert not alive
    assert not list((demo.home / "tmp").iterdir())
