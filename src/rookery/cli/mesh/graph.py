"""`rookery graph`: every member and every link of the mesh, as the local node knows them."""

from collections import Counter
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.mesh.control import CONTROL_OPTIONS, ControlOptions, Watch, print_rows, run_display
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_table
from rookery.runtime.control.client import ControlClient
from rookery.runtime.control.messages import ControlCommand, ControlRequest
from rookery.runtime.node.members import GraphLink, GraphLinkState, GraphMember, GraphPart, NodeName

MEMBERS = ("member", "site", "reach", "roles", "links", "told")
LINKS = ("link", "state", "cost", "claimed", "rtt", "loss", "rate", "told")

Site = Annotated[str, Parameter(name="--site", help="Only what has an end in this site.")]


def graph(
    *,
    site: Site = "",
    watch: Watch = False,
    control_options: ControlOptions = CONTROL_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    async def show(control: ControlClient) -> int:
        parts = await control.all(ControlRequest(do=ControlCommand.GRAPH), GraphPart)
        if output.json:
            print_rows(parts)
            return OK
        members = {one.hashname: one for part in parts for one in part.members}
        chosen = {one.hashname for one in members.values() if site in ("", one.site)}
        links = [
            link for part in parts for link in part.links if link.a in chosen or link.b in chosen
        ]
        at = parts[0].at if parts else 0.0
        shown = [one for one in members.values() if one.hashname in chosen]
        up = Counter(
            end for link in links if link.state is GraphLinkState.UP for end in (link.a, link.b)
        )
        print_table(MEMBERS, [_member_cells(one, up[one.hashname], at) for one in shown])
        if links:
            names = {
                one.hashname: str(NodeName(one.hashname, one.name)) for one in members.values()
            }
            print_table(LINKS, sorted(_link_cells(link, names, at) for link in links))
        return OK

    return run_display(control_options, show, is_watching=watch)


def _member_cells(member: GraphMember, links: int, at: float) -> tuple[str, ...]:
    return (
        str(NodeName(member.hashname, member.name)),
        member.site,
        member.reach.value,
        ", ".join(member.roles),
        str(links),
        _ago(member.claimed_at, at),
    )


def _link_cells(link: GraphLink, names: dict[str, str], at: float) -> tuple[str, ...]:
    return (
        f"{names.get(link.a, link.a[:8])} – {names.get(link.b, link.b[:8])}",
        f"{link.state.value} (avoided)" if link.is_avoided else link.state.value,
        units.cost(link.cost_us),
        f"{units.cost(link.cost_ab_us)} / {units.cost(link.cost_ba_us)}",
        units.milliseconds(link.rtt_ms),
        units.loss(link.loss_ab, link.loss_ba),
        f"{units.rate(link.rate_ab_bytes_s)} / {units.rate(link.rate_ba_bytes_s)}",
        _ago(link.claimed_at, at),
    )


def _ago(claimed_at: int | None, at: float) -> str:
    return units.UNKNOWN if claimed_at is None else f"{units.span(max(0, at - claimed_at))} ago"
