"""`exec`: nothing that is not on the list, no shell, no end without one."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from rookery.agent.methods.exec import OUTPUT_SIZE_MAX, RUNNING_MAX, ExecAllowList, ExecRunner
from rookery.errors import CongestionError, DeniedError, UnreachableError, UsageError


async def test_nothing_is_allowed_by_default() -> None:
    with pytest.raises(DeniedError, match="allow list"):
        await ExecRunner(ExecAllowList()).exec(["/bin/true"])


async def test_what_is_listed_runs_without_a_shell() -> None:
    executor = ExecRunner(ExecAllowList.parse("/bin/echo *  # whatever\n\n/bin/false"))
    result = await executor.exec(["/bin/echo", "$(reboot) ; `id`"])
    assert (result.code, result.out, result.err) == (0, "$(reboot) ; `id`\n", "")
    assert (await executor.exec(["/bin/false"])).code == 1


@pytest.mark.parametrize(
    "argv",
    [
        ["/bin/echo"],
        ["/bin/echo", "a", "b"],
        ["/bin/echo", "-n"],
        ["echo", "a"],
        ["/bin/../bin/echo", "a"],
        ["/bin/echo a"],
    ],
)
async def test_a_command_is_allowed_word_by_word(argv: list[str]) -> None:
    with pytest.raises(DeniedError):
        await ExecRunner(ExecAllowList.parse("/bin/echo *")).exec(argv)


async def test_one_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho begun\n(sleep 600; touch {alive}) &\nsleep 600\n")
    script.chmod(0o700)
    began = time.monotonic()
    result = await ExecRunner(ExecAllowList([[str(script)]])).exec([str(script)], timeout_s=0.5)
    assert result.is_timed_out
    assert result.out == "begun\n"
    assert result.code == -9
    assert time.monotonic() - began < 20
    assert not alive.exists()


async def test_long_output_is_cut() -> None:
    argv = [sys.executable, "-c", f"print('x' * {OUTPUT_SIZE_MAX * 3})"]
    result = await ExecRunner(ExecAllowList([argv])).exec(argv, timeout_s=60)
    assert (result.code, len(result.out), result.is_cut) == (0, OUTPUT_SIZE_MAX, True)


async def test_the_agents_environment_stays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOKERY_PASSWORD", "hunter2")
    result = await ExecRunner(ExecAllowList([["/usr/bin/env"]])).exec(["/usr/bin/env"])
    assert "hunter2" not in result.out
    assert "PATH=" in result.out


async def test_a_listed_program_that_is_missing_is_said() -> None:
    with pytest.raises(UnreachableError, match="cannot be run"):
        await ExecRunner(ExecAllowList([["/no/such/program"]])).exec(["/no/such/program"])


async def test_only_a_few_run_at_once() -> None:
    executor = ExecRunner(ExecAllowList([["/bin/sleep", "600"]]))
    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(executor.exec(["/bin/sleep", "600"])) for _ in range(RUNNING_MAX)
        ]
        await asyncio.sleep(0)
        with pytest.raises(CongestionError):
            await executor.exec(["/bin/sleep", "600"])
        for task in running:
            task.cancel()


def test_a_list_is_read_from_a_file_that_only_its_owner_writes(tmp_path: Path) -> None:
    file = tmp_path / "allowed"
    file.write_text("/bin/true\n")
    file.chmod(0o600)
    assert ExecAllowList.load(file).allows(["/bin/true"])
    file.chmod(0o622)
    with pytest.raises(UsageError, match="others could write"):
        ExecAllowList.load(file)
    with pytest.raises(UsageError, match="cannot read"):
        ExecAllowList.load(tmp_path / "missing")


@pytest.mark.parametrize("text", ["reboot", "/bin/echo 'open", "\n./x"])
def test_a_list_that_is_none_says_where(text: str) -> None:
    with pytest.raises(UsageError, match="line"):
        ExecAllowList.parse(text)
