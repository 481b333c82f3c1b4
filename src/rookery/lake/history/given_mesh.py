"""Given mesh: the realm of a roster. A link of it fades at night, another comes and goes, and its
relay was away once.
"""

from rookery.fleet.entry import server_id
from rookery.lake.history.mesh import Down, Mesh, Usual
from rookery.lake.history.population import Population
from rookery.lake.history.roster import Roster
from rookery.lake.history.timeline import DAY_S, HOUR_S, Timeline
from rookery.wire.mac import mac_text

FLAP_EVERY_S = 6 * HOUR_S
FLAP_S = (5 * HOUR_S, 5 * HOUR_S + 900)  # of each of these rounds


class GivenMesh(Mesh):
    """One realm; its nodes are beside the first routers."""

    def __init__(self, population: Population, timeline: Timeline, roster: Roster) -> None:
        super().__init__(population, timeline)
        if not roster.nodes:
            return
        self.realms = [roster.realm]
        self.realm_of = [0] * roster.nodes
        self.router_of = list(range(roster.nodes))
        self.hashnames = population.hashnames[: roster.nodes]
        self.ids = [mac_text(server_id(each)) for each in self.hashnames]
        self.relays = [roster.relay]
        for number, link in enumerate(roster.links):
            self._link(link.one, link.other)
            self.usual[number] = Usual(link.rtt_ms, link.loss)
        self.fading = [number for number, link in enumerate(roster.links) if link.fades]
        self._take_away(roster.relay)
        for number, link in enumerate(roster.links):
            if link.flaps:
                self._flap(number)

    def _flap(self, link: int) -> None:
        for begin in range(0, self.timeline.days * DAY_S, FLAP_EVERY_S):
            self.downs.append(Down(link, float(begin + FLAP_S[0]), float(begin + FLAP_S[1])))

    def observers(self, realm: int) -> tuple[int, int]:
        one, other, *_ = (each for each in range(len(self.hashnames)) if each not in self.relays)
        return one, other
