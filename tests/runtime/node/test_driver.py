"""A node's core as the pump drives it, and who is told what comes of it."""

from rookery.link.events import Event, LinkDown
from rookery.mesh.routing.echo import EchoOutcome
from rookery.runtime.node.driver import NodeDriver
from rookery.runtime.tunnels.tunnels import AsyncTunnels
from rookery.sim.loop import run_virtual
from rookery.sim.mesh.member import SimulatedMember
from tests.mesh.node_world import NodeWorld


def housed(host: SimulatedMember, world: NodeWorld) -> NodeDriver:
    tunnels = AsyncTunnels(host.core, lambda: None, lambda: world.now)
    return NodeDriver(host.core, tunnels, world.now)


def test_a_listener_hears_what_happens_to_links_and_so_does_the_core() -> None:
    async def main() -> None:
        world = NodeWorld()
        ada, bob = world.line("ada", "bob")
        residence, heard = housed(ada, world), list[Event]()
        residence.on_event = lambda event, now: heard.append(event)
        event = LinkDown(ada.endpoint.links[bob.hashname], "no answer")
        residence.handle(event, world.now)
        assert heard == [event]
        assert bob.id not in ada.core.neighbours

    run_virtual(main())


def test_the_core_is_given_time_and_tells_whether_anything_was_due() -> None:
    async def main() -> None:
        world = NodeWorld()
        ada, _ = world.line("ada", "bob")
        residence = housed(ada, world)
        residence.flush(world.now)
        deadline = residence.deadline
        assert deadline is not None
        assert not residence.tick(world.now)
        assert residence.tick(deadline + 20.0)
        assert residence.worked_s == deadline + 20.0

    run_virtual(main())


def test_an_echo_is_told_to_who_asked_until_that_is_forgotten() -> None:
    async def main() -> None:
        world = NodeWorld()
        ada, bob = world.line("ada", "bob")
        residence, told = housed(ada, world), list[EchoOutcome]()
        for is_forgotten in (False, True):
            token = ada.core.ping(bob.hashname, world.now)
            answered = residence.expect(token)
            if is_forgotten:
                residence.forget(token)
            residence.tick(world.now + 60.0)  # nobody has carried the question
            residence.flush(world.now + 60.0)
            assert answered.done() is not is_forgotten
            told += [] if is_forgotten else [answered.result()]
        assert [outcome.token for outcome in told]

    run_virtual(main())
