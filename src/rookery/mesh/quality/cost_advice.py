"""Cost advice: a signed forecast that makes links dearer before they fail.

    cost of a link of ours = measured cost × factor           1 ≤ factor ≤ 2

The factor differs from 1 only within the windows of an advice that is signed by a trusted advisor
and has not expired. Advice cannot make a member unreachable, and without it nothing changes. Only
our own links are affected: the other end has its own claim, and the realm takes the worse of both.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rookery.mesh.membership.membership import Membership
from rookery.mesh.routing.route_explanation import RouteExplanation, RouteRemark

if TYPE_CHECKING:  # most nodes follow no advice and do not need its codec
    from rookery.identity.artifact import TrustedArtifact
    from rookery.wire.mesh.advice import Advice, AdviceWindow, LinkAdvice

Ends = tuple[str, str]  # hashnames, the smaller one first

_DAY_S = 86_400
_NOTHING: "Mapping[Ends, LinkAdvice]" = MappingProxyType({})


class CostAdvice:
    """The advice that a node follows, if any; only `advisors` (hashnames) are trusted."""

    def __init__(
        self, membership: Membership, advisors: Collection[str] = frozenset[str]()
    ) -> None:
        self.advisors = advisors
        self._membership = membership
        self._links = _NOTHING
        self.learned: TrustedArtifact[Advice] | None = None

    def heed(self, artifact: bytes | None) -> None:
        """Follow this advice from now on, or none.

        RemoteError if it is not advice of a trusted advisor; then no advice is followed.
        """
        self.learned, self._links = None, _NOTHING
        if artifact is not None:
            from rookery.identity.artifact import open_advice  # few nodes need it

            self.learned = open_advice(artifact, self.advisors)
            realm = self._membership.realm.id
            links = [link for link in self.learned.content.links if link.realm == realm]
            self._links = {(link.a, link.b): link for link in links}

    def is_current(self, unix_s: float) -> bool:
        """True if there is an advice that is valid now."""
        return self.learned is not None and self.learned.is_current(unix_s * 1000)

    def factor(self, peer: str, unix_s: float) -> float:
        """The factor on the measured cost of our link with this member, now."""
        window = self.window(self._membership.own.hashname, peer, unix_s)
        return 1.0 if window is None else window.weighted

    def window(self, one: str, other: str, unix_s: float) -> "AdviceWindow | None":
        """The advice window of a link that is open now."""
        link = self._links.get((one, other) if one < other else (other, one))
        if link is None or not self.is_current(unix_s):
            return None
        return link.window_at(int(unix_s * 1000))

    def remarks(self, explanation: RouteExplanation, unix_s: float) -> list[RouteRemark]:
        """Remarks on advised links of an explanation."""
        if self.learned is None:
            return []
        remarks = []
        for ends in explanation.edges():
            members = [self._membership.member(node) for node in ends]
            names = [member.hashname for member in members if member is not None]
            window = self.window(names[0], names[1], unix_s) if len(names) == len(ends) else None
            if window is not None:
                remarks.append(RouteRemark(ends, _text(window, self.learned.issuer)))
        return remarks


def _text(window: "AdviceWindow", issuer: str) -> str:
    begin, end = _clock(window.start_ms), _clock(window.end_ms)
    return f"advice: costs {window.weighted:.2f} × from {begin} to {end} UTC, by {issuer[:8]}"


def _clock(at_ms: int) -> str:
    minutes = at_ms // 60_000 % (_DAY_S // 60)
    return f"{minutes // 60:02}:{minutes % 60:02}"
