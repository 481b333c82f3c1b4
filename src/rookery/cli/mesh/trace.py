"""`rookery trace`: every node of the route to a member, with the round-trip time to each."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import (
    CONTROL_OPTIONS,
    ControlOptions,
    NodeName,
    print_line,
    print_row,
)
from rookery.cli.runner import run_verb
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK, UNREACHABLE
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import remark
from rookery.runtime.control.messages import (
    PROBES_DEFAULT,
    TIMEOUT_S_MAX,
    ControlCommand,
    ControlRequest,
)
from rookery.runtime.node.snapshot import TraceHop


def trace(
    node: NodeName,
    /,
    *,
    probes: Annotated[int, Parameter(name="--probes", help="Probes to each hop.")] = PROBES_DEFAULT,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    timeout_s = min(control_options.timeout_s, TIMEOUT_S_MAX)
    request = ControlRequest(do=ControlCommand.TRACE, node=node, timeout_s=timeout_s, probes=probes)

    async def work() -> int:
        is_there = False
        async with control_options.connected() as control:
            async for hop in control.ask(request, TraceHop, patience_s=timeout_s * probes):
                is_there = hop.is_last and hop.is_answered
                _print(hop, output)
        if not is_there and not output.json:
            remark(f"{node} did not answer; rookery explain {node} says which route was taken")
        return OK if is_there else UNREACHABLE

    return run_verb(work())


def _print(hop: TraceHop, output: Output) -> None:
    if output.json:
        print_row(hop)
    else:
        print_line(described(hop))


def described(hop: TraceHop) -> str:
    rtts = "  ".join("*" if rtt is None else units.milliseconds(rtt) for rtt in hop.rtts_ms)
    text = f"{hop.number:>2}  {hop.node!s:<16}  {hop.node.hashname[:8]}  {rtts}"
    return f"{text}  {hop.problem}" if hop.problem else text
