"""What the matrix makes of a graph, and how a large mesh is asked for."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from rookery.errors import UsageError
from rookery.runtime.control.messages import ControlEnd, answer_line
from rookery.runtime.node.members import (
    GraphLink,
    GraphLinkState,
    GraphMember,
    GraphPart,
    Reachability,
)
from rookery.web.mesh.graph import (
    LinkShown,
    MemberShown,
    MeshGraphShown,
    MeshMatrix,
    MeshMatrixCell,
)
from rookery.web.mesh.graph import LinkState as LinkStateShown
from rookery.web.mesh.matrix import MEMBERS, MEMBERS_MAX, matrix_of, most_linked
from rookery.web.mesh.source import MeshSource
from rookery.wire import base32

MANY = 1000


def member(
    hashname: str, *, roles: tuple[str, ...] = ("relay",), is_up: bool = True
) -> MemberShown:
    return MemberShown(
        hashname=hashname, name=hashname, site="", roles=roles, is_up=is_up, age_s=1.0
    )


def link(
    a: str,
    b: str,
    costs_us: tuple[int | None, int | None] = (1000, 1000),
    *,
    rtt_ms: float | None = None,
    losses: tuple[float, float] = (0.0, 0.0),
    state: LinkStateShown = "up",
    age_s: float = 5.0,
) -> LinkShown:
    return LinkShown(
        a=a,
        b=b,
        rtt_ms=rtt_ms,
        loss_ab=losses[0],
        loss_ba=losses[1],
        cost_ab_us=costs_us[0],
        cost_ba_us=costs_us[1],
        rate_bytes_s=None,
        state=state,
        age_s=age_s,
    )


def graph(*links: LinkShown, members: tuple[MemberShown, ...] = ()) -> MeshGraphShown:
    ends = sorted({end for one in links for end in (one.a, one.b)})
    return MeshGraphShown(at=100.0, members=members or tuple(map(member, ends)), links=links)


def cell(matrix: MeshMatrix, source: str, target: str) -> MeshMatrixCell:
    (found,) = (one for one in matrix.cells if (one.source, one.target) == (source, target))
    return found


def whole(mesh: MeshGraphShown) -> MeshMatrix:
    return matrix_of(mesh, mesh.members)


def test_latency_is_half_the_round_trip_where_measured_and_else_the_worse_claim() -> None:
    mesh = graph(link("a", "b", rtt_ms=3.0), link("b", "c", (4000, 7000)))
    matrix = whole(mesh)
    assert cell(matrix, "a", "b").latency_ms == 1.5
    assert cell(matrix, "c", "b").latency_ms == 7.0
    far = cell(matrix, "a", "c")
    assert (far.latency_ms, far.via, far.is_direct) == (8.5, ("b",), False)
    assert cell(matrix, "a", "b").is_direct


def test_loss_adds_up_by_direction_and_the_oldest_claim_gives_the_age() -> None:
    mesh = graph(
        link("a", "b", losses=(0.5, 0.0), age_s=7.0), link("b", "c", losses=(0.5, 0.1), age_s=90.0)
    )
    there, back = (cell(whole(mesh), *ends) for ends in (("a", "c"), ("c", "a")))
    assert (there.loss, there.age_s) == (0.75, 90.0)
    assert back.loss == pytest.approx(0.1)


def test_only_links_that_are_up_and_members_that_relay_carry_others() -> None:
    leaf = member("b", roles=())
    mesh = graph(
        link("a", "b"), link("b", "c"), members=(member("a"), leaf, member("c"), member("d"))
    )
    nothing = cell(whole(mesh), "a", "c")
    assert (nothing.latency_ms, nothing.loss, nothing.age_s, nothing.via) == (None, None, None, ())
    assert cell(whole(mesh), "a", "d").latency_ms is None
    one_way = graph(link("a", "b", (1000, None), state="one-way"))
    assert cell(whole(one_way), "a", "b").latency_ms is None
    ours = graph(link("a", "b", (1000, None)))  # the node's own, which the other has not told yet
    assert cell(whole(ours), "b", "a").latency_ms == 1.0


def test_of_a_mesh_too_large_those_are_shown_that_tell_most() -> None:
    names = [f"m{number:03}" for number in range(MEMBERS * 2)]
    hub = link("hub", "m000")
    mesh = graph(
        hub,
        *(link("hub", name) for name in names[1:]),
        members=(
            *(member(name, roles=()) for name in names),
            member("hub"),
            member("off", is_up=False),
        ),
    )
    shown = [one.hashname for one in most_linked(mesh)]
    assert len(shown) == MEMBERS
    assert "hub" in shown
    assert "off" not in shown
    assert matrix_of(mesh, most_linked(mesh)).left_out == len(mesh.members) - MEMBERS


def large_answer() -> list[bytes]:
    """The lines of a node that knows of a thousand members, four links each."""
    names = [base32.encode(hashlib.sha256(str(n).encode()).digest()) for n in range(MANY)]
    lines = []
    for first in range(0, MANY, 20):
        members = [
            GraphMember(hashname=name, roles=("relay",), site="one", reach=Reachability.ROUTE)
            for name in names[first : first + 20]
        ]
        links = [
            GraphLink(
                a=min(names[one], names[other]),
                b=max(names[one], names[other]),
                state=GraphLinkState.UP,
                cost_us=1000,
                cost_ab_us=1000 + one,
                cost_ba_us=1000,
            )
            for one in range(first, first + 20)
            for other in (one - 1, one - 10, one - 100, one - 300)
        ]
        lines.append(answer_line(GraphPart(at=1.0, members=tuple(members), links=tuple(links))))
    return [*lines, answer_line(ControlEnd())]


async def test_a_thousand_members_are_read_while_others_are_served(tmp_path: Path) -> None:
    path, lines, turns = tmp_path / "control.sock", large_answer(), 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readline()
            writer.write(b"".join(lines))  # so that nothing needs to be waited for
            await reader.read()
        finally:
            writer.close()  # also if the test is over before this one hears of it

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with await asyncio.start_unix_server(answer, path):
        source = MeshSource(path, answer_s=30)
        serving = asyncio.get_running_loop().create_task(others())
        mesh = await source.graph()
        assert turns >= len(lines)
        serving.cancel()
        assert (len(mesh.members), len(mesh.links)) == (MANY, 4 * MANY)
        matrix = await source.matrix()
        assert len(matrix.cells) == MEMBERS * (MEMBERS - 1)
        assert all(one.latency_ms is not None for one in matrix.cells)
        with pytest.raises(UsageError, match=f"at most {MEMBERS_MAX}"):
            await source.matrix(site="one")
