"""R13: the mesh as operators see it, asked of a real node, and of what is none."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from rookery.runtime.control.messages import ROW_SIZE_MAX
from rookery.web.accounts.caller import Caller
from rookery.web.http.problems import NodeUnavailableError
from rookery.web.mesh.api import TOPICS
from rookery.web.mesh.source import MeshSource
from tests.web.mesh_world import MeshWorld, eventually, mesh_world
from tests.web.world import SETTINGS, world

API = "/api/v1"
OPERATOR = Caller(account=1, login="olga", role="operator")


class Clock:
    """Moves when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
async def meshworld(tmp_path: Path, template: Path) -> AsyncIterator[MeshWorld]:
    async with mesh_world(tmp_path, template) as made:
        yield made


async def test_the_graph_has_all_members_and_the_links_between_them(meshworld: MeshWorld) -> None:
    olga = await meshworld.hub.signed_in("olga", "operator")
    berlin, oslo, rome = (home.hashname for home in meshworld.homes)

    async def states() -> dict[frozenset[str], str]:
        graph = (await olga.get(f"{API}/mesh/graph")).json()
        return {frozenset((link["a"], link["b"])): link["state"] for link in graph["links"]}

    both = {frozenset((berlin, oslo)): "up", frozenset((oslo, rome)): "up"}

    async def are_both_up() -> bool:
        return await states() == both

    await eventually(are_both_up)
    graph = (await olga.get(f"{API}/mesh/graph")).json()
    assert abs(graph["at"] - time.time()) < 60
    members = {one["hashname"]: one for one in graph["members"]}
    assert {one["name"]: one["site"] for one in members.values()} == {
        "berlin-gw1": "berlin",
        "oslo": "",
        "rome.gw1": "rome",
    }
    assert all(one["is_up"] and one["roles"] == ["relay"] for one in members.values())
    assert all(0 <= one["age_s"] < 60 for one in members.values())
    links = {frozenset((link["a"], link["b"])): link for link in graph["links"]}
    assert all(link["a"] < link["b"] for link in links.values())
    ours, theirs = links[frozenset((berlin, oslo))], links[frozenset((oslo, rome))]
    assert ours["rtt_ms"] > 0
    assert theirs["rtt_ms"] is None  # nobody here measures it
    for link in (ours, theirs):
        assert link["cost_ab_us"] > 0
        assert link["cost_ba_us"] > 0
        assert 0 <= link["loss_ab"] <= 1
        assert 0 <= link["age_s"] < 60


async def test_the_route_between_any_two_members_is_explained(meshworld: MeshWorld) -> None:
    """R13: also one that the node beside the hub has no part in."""
    olga = await meshworld.hub.signed_in("olga", "operator")
    berlin, oslo, rome = (home.hashname for home in meshworld.homes)
    question = f"{API}/mesh/explain?from=rome.gw1&to=berlin-gw1"

    async def is_explained() -> bool:
        return any(route["is_used"] for route in (await olga.get(question)).json()["ways"])

    await eventually(is_explained)
    answer = (await olga.get(question)).json()
    assert (answer["from"], answer["to"]) == (rome, berlin)
    (used,) = (route for route in answer["ways"] if route["is_used"])
    assert used["nodes"] == [rome, oslo, berlin]
    assert used["cost_us"] > 0
    assert used["why"] == "chosen: the cheapest"
    assert answer["lines"][0] == "to berlin-gw1: rome.gw1 – oslo – berlin-gw1"
    assert any("was not asked" in line for line in answer["lines"])
    ours = (await olga.get(f"{API}/mesh/explain?from={berlin}&to=oslo")).json()
    assert not any("was not asked" in line for line in ours["lines"])


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("from=nobody&to=oslo", 404),
        ("from=oslo&to=nobody", 404),
        ("from=oslo&to=oslo", 400),
        ("from=oslo", 400),
        ("from=&to=oslo", 400),
        (f"from={'x' * 100}&to=oslo", 400),
    ],
)
async def test_a_route_between_unknown_members_is_a_problem(
    meshworld: MeshWorld, query: str, status: int
) -> None:
    olga = await meshworld.hub.signed_in("olga", "operator")
    answer = await olga.get(f"{API}/mesh/explain?{query}")
    assert answer.status_code == status
    assert answer.json()["detail"]


async def test_the_matrix_sums_the_links_of_a_route(meshworld: MeshWorld) -> None:
    olga = await meshworld.hub.signed_in("olga", "operator")
    berlin, oslo, rome = (home.hashname for home in meshworld.homes)

    async def cells() -> dict[tuple[str, str], dict[str, object]]:
        matrix = (await olga.get(f"{API}/mesh/matrix")).json()
        assert len(matrix["members"]) == 3
        assert matrix["left_out"] == 0
        return {(cell["from"], cell["to"]): cell for cell in matrix["cells"]}

    async def is_known() -> bool:
        return (await cells())[rome, berlin]["latency_ms"] is not None

    await eventually(is_known)
    found = await cells()
    assert len(found) == 6
    there, back = found[berlin, rome], found[rome, berlin]
    assert (there["via"], back["via"]) == ([oslo], [oslo])
    assert not there["is_direct"]
    assert found[berlin, oslo]["is_direct"]
    assert isinstance(there["latency_ms"], float)
    direct, onward = found[berlin, oslo]["latency_ms"], found[oslo, rome]["latency_ms"]
    assert isinstance(direct, float)
    assert isinstance(onward, float)
    assert there["latency_ms"] == pytest.approx(direct + onward, abs=0.01)
    named = (await olga.get(f"{API}/mesh/matrix?members=oslo,berlin-gw1")).json()
    assert [one["name"] for one in named["members"]] == ["oslo", "berlin-gw1"]
    assert (len(named["cells"]), named["left_out"]) == (2, 1)
    of_site = (await olga.get(f"{API}/mesh/matrix?site=rome")).json()
    assert [one["name"] for one in of_site["members"]] == ["rome.gw1"]
    assert (await olga.get(f"{API}/mesh/matrix?members=oslo,nobody")).status_code == 404


async def test_the_live_topic_keeps_still_while_nothing_changes(meshworld: MeshWorld) -> None:
    (topic,) = TOPICS
    assert (topic.name, topic.role, topic.is_shared) == ("mesh", "operator", True)
    clock = Clock()
    meshworld.hub.site.mesh = MeshSource(meshworld.path, clock=clock)
    berlin, oslo, rome = (home.hashname for home in meshworld.homes)

    async def read() -> dict[str, msgspec.Struct]:
        return dict(await topic.read(meshworld.hub.site, OPERATOR))

    async def is_whole() -> bool:
        clock.now_s += 2.0
        return len(await read()) == 5

    await eventually(is_whole)
    first = await read()
    assert {f"member {one}" for one in (berlin, oslo, rome)} <= first.keys()
    far = f"link {min(oslo, rome)} {max(oslo, rome)}"
    assert far in first
    kept = await read()
    clock.now_s += 2.0  # a graph is kept for a second: the next is another one
    again = await read()
    assert again is not kept
    assert again[f"member {rome}"] == first[f"member {rome}"]


async def test_the_mesh_is_for_operators(meshworld: MeshWorld) -> None:
    alice = await meshworld.hub.signed_in("alice")
    for path in ("graph", "matrix", "explain?from=oslo&to=rome.gw1", "queues", "queues/oslo"):
        assert (await alice.get(f"{API}/mesh/{path}")).status_code == 403
        assert (await meshworld.hub.anonymous().get(f"{API}/mesh/{path}")).status_code == 401


async def test_a_hub_without_a_node_says_how_to_name_one(tmp_path: Path, template: Path) -> None:
    async with world(tmp_path, template) as hub:
        olga = await hub.signed_in("olga", "operator")
        for path in ("graph", "matrix", "explain?from=a&to=b", "queues"):
            answer = await olga.get(f"{API}/mesh/{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "no_node")
            assert "rookery hub --node" in answer.json()["detail"]
        (topic,) = TOPICS
        assert await topic.read(hub.site, OPERATOR) == {}


# --- what is no node, or none that can be trusted ---


@asynccontextmanager
async def impostor(
    path: Path, answer: bytes | None, *, is_ending: bool = True
) -> AsyncIterator[None]:
    """Listens in the place of a node, and answers everything with the same; None: with nothing."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readline()
            while answer is not None:
                writer.write(answer)
                await writer.drain()
                if is_ending:
                    break
            await reader.read()
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_unix_server(talk, path)
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()


END = b'{"v":1,"is":"end","ok":true,"code":null,"error":""}\n'
PART = b'{"v":1,"is":"graph","at":1.0,"members":[],"links":[]}\n'


@pytest.mark.parametrize(
    ("answer", "is_ending"),
    [
        (None, True),
        (b"nonsense\n", True),
        (b"\x00\xff\n", True),
        (b"[" * 5000 + b"\n", True),
        (b'{"v":1,"is":"ping"}\n', True),
        (b'{"v":1,"is":"status"}\n' + END, True),
        (b'{"v":1,"is":"graph","at":1.0,"links":[{"a":"x","b":7}]}\n', True),
        (END, True),
        (b"x" * (ROW_SIZE_MAX + 2), True),
        (PART, False),
        (b"", True),
    ],
)
async def test_whatever_is_wrong_with_the_node_is_one_problem_in_bounded_time(
    tmp_path: Path, template: Path, answer: bytes | None, is_ending: bool
) -> None:
    path = tmp_path / "node.sock"
    settings = msgspec.structs.replace(SETTINGS, node=path)
    async with (
        impostor(path, answer, is_ending=is_ending),
        world(tmp_path, template, settings) as hub,
    ):
        hub.site.mesh = MeshSource(path, answer_s=0.5)
        olga = await hub.signed_in("olga", "operator")
        begun = time.monotonic()
        response = await olga.get(f"{API}/mesh/graph")
        took_s = time.monotonic() - begun
        assert (response.status_code, response.json()["code"]) == (503, "node_away"), response.text
        assert response.headers["retry-after"]
        assert took_s < 10


async def test_a_node_that_is_away_is_a_problem_and_back_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    clock = Clock()
    source = MeshSource(path, clock=clock)
    with pytest.raises(NodeUnavailableError, match="no node is running"):
        await source.graph()
    member = b'{"v":1,"is":"graph","at":1.0,"members":[{"hashname":"aa"}],"links":[]}\n'
    async with impostor(path, member + END):
        with pytest.raises(NodeUnavailableError):
            await source.graph()  # errors are kept as long as answers
        clock.now_s += 2.0
        assert (await source.graph()).members[0].hashname == "aa"
    clock.now_s += 2.0
    path.chmod(0)
    with pytest.raises(NodeUnavailableError):
        await source.graph()


async def test_requests_to_a_hung_node_share_one_timeout(tmp_path: Path) -> None:
    """A hundred pages are not a hundred waits, one after the other."""
    path = tmp_path / "node.sock"
    source = MeshSource(path, answer_s=0.5)
    async with impostor(path, None):
        begun = time.monotonic()
        answers = await asyncio.gather(
            *(source.graph() for _ in range(100)), return_exceptions=True
        )
        assert time.monotonic() - begun < 10  # not 50
        assert all(isinstance(answer, NodeUnavailableError) for answer in answers)


async def test_a_hundred_pages_cost_one_question(meshworld: MeshWorld) -> None:
    source = meshworld.hub.site.mesh
    assert source is not None
    graphs = await asyncio.gather(*(source.graph() for _ in range(100)))
    assert len({id(graph) for graph in graphs}) <= 3  # a slow machine may need another second
