"""`rookery queue`: requests in the local node's outbox: list, add, cancel."""

from typing import Annotated

from cyclopts import App, Parameter

from rookery.cli.mesh.control import (
    CONTROL_OPTIONS,
    ControlOptions,
    NodeName,
    Watch,
    print_rows,
    run_display,
)
from rookery.cli.runner import run_verb
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_table, remark
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.outbox.rows import QueueRow, RequestRow

QUEUE_COLUMNS = ("peer", "requests", "memory", "states", "session", "last error")
REQUEST_COLUMNS = ("id", "state", "qos", "bytes", "expires in", "cancel")

app = App(name="queue", help="What waits in the local node's outbox.", help_on_error=False)


@app.command(name="list", help_epilogue="Example:  rookery queue list --id alice")
def list_(
    *,
    watch: Watch = False,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    """List the peers that requests wait for, or that there was a session with."""

    async def show(control: ControlClient) -> int:
        rows = await control.all(ControlRequest(do=ControlCommand.QUEUES), QueueRow)
        if output.json:
            print_rows(rows)
        elif rows:
            print_table(QUEUE_COLUMNS, [_queue_cells(row) for row in rows])
        else:
            remark("no requests wait, and there was no session yet")
        return OK

    return run_display(control_options, show, is_watching=watch)


@app.command(help_epilogue="Example:  rookery queue show bob --id alice")
def show(
    node: NodeName,
    /,
    *,
    watch: Watch = False,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    """List the requests that wait for a member or are under way to it, oldest first."""

    async def look(control: ControlClient) -> int:
        _print(
            await control.all(ControlRequest(do=ControlCommand.QUEUE, node=node), RequestRow),
            output,
        )
        return OK

    return run_display(control_options, look, is_watching=watch)


@app.command(help_epilogue="Example:  rookery queue add bob 'open the gate' --qos 2 --id alice")
def add(
    node: NodeName,
    text: Annotated[str, Parameter(name="TEXT", help="The request.")],
    /,
    *,
    qos: Annotated[
        int, Parameter(name="--qos", help="0 at most once, 1 at least once, 2 exactly once.")
    ] = 1,
    expires_s: Annotated[
        float | None,
        Parameter(name="--expires", help="Seconds after which it shall not be sent any more."),
    ] = None,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    """Queue a request for a member, and leave it to the node."""
    request = ControlRequest(
        do=ControlCommand.QUEUE_ADD, node=node, text=text, qos=qos, expires_s=expires_s
    )
    return _ask(request, control_options, output)


@app.command(help_epilogue="Example:  rookery queue cancel bob 17 --id alice")
def cancel(
    node: NodeName,
    number: Annotated[
        int | None, Parameter(name="ID", help="One request, as `show` numbers it; else all.")
    ] = None,
    /,
    *,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    """Cancel requests whose writing has not begun; what was written can not be taken back."""
    return _ask(
        ControlRequest(do=ControlCommand.QUEUE_CANCEL, node=node, id=number),
        control_options,
        output,
    )


def _ask(request: ControlRequest, control_options: ControlOptions, output: Output) -> int:
    async def work() -> int:
        async with control_options.connected() as control:
            _print(await control.all(request, RequestRow), output)
        return OK

    return run_verb(work())


def _print(rows: list[RequestRow], output: Output) -> None:
    if output.json:
        print_rows(rows)
    elif rows:
        print_table(REQUEST_COLUMNS, [_request_cells(row) for row in rows])
    else:
        remark("no requests")


def _queue_cells(row: QueueRow) -> tuple[str, ...]:
    states = ", ".join(f"{count} {state}" for state, count in row.states.items())
    alarm = " (nearly full)" if row.is_alarmed else ""
    return (
        str(row.node),
        f"{row.requests}{alarm}",
        f"{row.bytes} B",
        states or units.UNKNOWN,
        "yes" if row.is_in_session else "no",
        row.last_error,
    )


def _request_cells(row: RequestRow) -> tuple[str, ...]:
    return (
        str(row.id),
        row.state,
        str(row.qos),
        str(row.bytes),
        units.UNKNOWN if row.expires_in_s is None else f"{row.expires_in_s:.0f} s",
        "too late" if row.is_begun else "",
    )
