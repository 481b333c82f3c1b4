"""A node's core as the pump drives it, and who is told what comes of it."""

from rookery.link.events import Event, LinkDown
from rookery.mesh.routing.echo import EchoOutcome
from rookery.runtime.node.driver import NodeDriver
from rookery.runtime.tunnels.tunnels import AsyncTunnels
from rookery.sim.loop import run_virtual
from rookery.sim.mesh.member import SimulatedMember
from tests.mesh.node_world import NodeWorld


def driven(host: SimulatedMember, world: NodeWorld) -> NodeDriver:
    tunnels = AsyncTunnels(host.core, lambda: None, lambda: world.now)
    return NodeDriver(host.core, tunnels, world.now)


def test_a_listener_hears_what_happens_to_links_and_so_does_the_core() -> None:
    async def main() -> None:
        world = NodeWorld()
        ada, bob = world.line("ada", "bob")
        node_driver, seen = driven(ada, world), list[Event]()
        node_driver.on_event = lambda event, now: seen.append(event)
        event = LinkDown(ada.endpoint.links[bob.hashname], "no answer")
        node_driver.handle(event, world.now)
        assert seen == [event]
        assert bob.id not in ada.core.neighbours

    run_virtual(main())


def test_the_core_is_given_time_and_tells_whether_anything_was_due() -> None:
    async def main() -> None:
        world = NodeWorld()
        ada, _ = world.line("ada", "bob")
        node_driver = driven(ada, world)
        node_driver.flush(world.now)
        deadline = node_driver.deadline
        assert deadline is not None
        assert not node_driver.tick(world.now)
        assert node_driver.tick(deadline + 20.0)
        assert node_driver.worked_s == deadline + 20.0

    run_virtual(main())


def test_an_echo_resolves_its_future_until_that_is_forgotten() -> None:
    async def main() -> None:
        world = NodeWorld()
        ada, bob = world.line("ada", "bob")
        node_driver, outcomes = driven(ada, world), list[EchoOutcome]()
        for is_forgotten in (False, True):
            token = ada.core.ping(bob.hashname, world.now)
            answered = node_driver.expect(token)
            if is_forgotten:
                node_driver.forget(token)
            node_driver.tick(world.now + 60.0)  # nobody has carried the question
            node_driver.flush(world.now + 60.0)
            assert answered.done() is not is_forgotten
            outcomes += [] if is_forgotten else [answered.result()]
        assert [outcome.token for outcome in outcomes]

    run_virtual(main())
