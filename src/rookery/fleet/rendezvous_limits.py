"""How long each step of a rendezvous may take, and how many servers are tried."""

import msgspec


class RendezvousLimits(msgspec.Struct, frozen=True):
    """The defaults are for routers that report every 20 s."""

    report_s: float = 45.0  # until the router reports; one report may be lost
    connect_s: float = 45.0  # until it comes; one call may be lost, the next report brings another
    reserve_s: float = 5.0  # until the server answers
    arrive_s: float = 15.0  # until the router is there
    return_s: float = 45.0  # until a router that could not get there comes back
    seat_s: int = 60  # for the client to come, once the router is there
    attempts_max: int = 3

    @property
    def total_s(self) -> float:
        """When the client knows, at the latest."""
        attempts_s = self.attempts_max * (self.reserve_s + self.arrive_s)
        returns_s = (self.attempts_max - 1) * self.return_s
        return self.report_s + self.connect_s + attempts_s + returns_s
