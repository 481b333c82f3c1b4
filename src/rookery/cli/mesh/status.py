"""`rookery status`: the local node at a glance, and a check that supervisors can run."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from cyclopts import Parameter

from rookery.cli.mesh.control import (
    CONTROL_OPTIONS,
    ControlOptions,
    Watch,
    print_line,
    print_row,
    run_display,
)
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import FAILED, OK, STALE
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.snapshot import NodeStatus

Check = Literal["live", "ready"]


def status(
    *,
    check: Annotated[
        Check | None,
        Parameter(
            name="--check",
            help="Only say whether it is live or ready; exit code 0 if so, 1 if not ready, 3 if no "
            "node is running, 5 if it is stuck.",
        ),
    ] = None,
    watch: Watch = False,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    async def show(control: ControlClient) -> int:
        found = await control.one(ControlRequest(do=ControlCommand.STATUS), NodeStatus)
        if output.json:
            print_row(found)
        elif check is not None:
            print_line(health_text(found, check))
        else:
            print_fields(described(found))
        return code(found, check)

    return run_display(control_options, show, is_watching=watch)


def code(found: NodeStatus, check: Check | None) -> int:
    if found.is_stale:
        return STALE
    return FAILED if check == "ready" and not found.is_ready else OK


def health_text(found: NodeStatus, check: Check) -> str:
    if found.is_stale:
        return f"stuck: it has not seen to its links for {units.span(found.worked_ago_s)}"
    if check == "live":
        return "live"
    return "ready" if found.is_ready else f"not ready: {'; '.join(found.problems)}"


def described(found: NodeStatus) -> list[tuple[str, object]]:
    """A node as people read it."""
    ends = datetime.fromtimestamp(found.certificate_ends_at, UTC)
    left_s = found.certificate_ends_at - found.made_at
    return [
        ("state", health_text(found, "ready")),
        ("name", found.name or None),
        ("hashname", found.hashname),
        ("realm", found.realm),
        ("roles", ", ".join(found.roles) or None),
        ("listening", ", ".join(found.listening) or "nowhere"),
        ("peers", f"{found.peers_up} up of {found.peers}"),
        ("members", f"{found.routes} reachable of {found.members - 1} others"),
        ("certificate", f"until {ends:%Y-%m-%d %H:%M} UTC, {_left(left_s)}"),
        (
            "running",
            f"{units.span(found.uptime_s)}, process {found.pid}, "
            f"rookery {found.version} ({found.build})",
        ),
    ]


def _left(seconds: float) -> str:
    return f"{units.span(seconds)} left" if seconds > 0 else "which is past"
