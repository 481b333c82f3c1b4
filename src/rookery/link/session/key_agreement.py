"""How a link comes to share keys with its peer: the exchange, and rounds of handshakes over paths.

A *round* is a new `at` sent over every path, repeated after 1, 3, 7 and 15 seconds where nothing
came back. What a handshake proves about the path it came by is learnt here, and it is answered
there once.
"""

from typing import TYPE_CHECKING

from rookery.errors import DecodeError
from rookery.identity.cipher_set import OpenedMessage, routing_token
from rookery.link.events import PathFound
from rookery.link.link_owner import LinkOwner
from rookery.link.session.exchange import Exchange, HandshakeVerdict
from rookery.link.session.handshake_schedule import SPACING_S, HandshakeSchedule, HandshakeStep
from rookery.wire.link.path import Path, PeerPath

if TYPE_CHECKING:
    from rookery.link.link import Link

_STALE_BURST = 3


class KeyAgreement:
    """The handshakes of one link."""

    __slots__ = ("_challenge", "_link", "_owner", "_stale_answer_from", "exchange", "rounds")

    def __init__(self, link: "Link", owner: LinkOwner) -> None:
        self.exchange: Exchange | None = None
        self.rounds = HandshakeSchedule()
        self._link = link
        self._owner = owner
        self._stale_answer_from = 0.0
        self._challenge: tuple[Path, int] | None = None  # a fresh `at` sent to one place only

    def ensure_exchange(self, now: float) -> None:
        """An exchange under the best cipher set that both have."""
        while (csid := self._link.csid) is not None:
            if self.exchange is not None and self.exchange.csid == csid:
                return
            try:
                self.renew_exchange(csid, now)
            except DecodeError as error:
                # Some keys show only in use that they are none; the next best may do.
                self._link.last_error = str(error)
                del self._link.keys[csid]

    def renew_exchange(self, csid: int, now: float) -> None:
        identity, previous = self._owner.identity, self.exchange
        self.exchange = Exchange(
            identity.local[csid],
            identity.intermediates(csid),
            self._link.keys[csid],
            at=max(self._owner.wall(now), previous.at + 1 if previous is not None else 0),
            random=self._owner.random,
            confirmed=previous.confirmed if previous is not None else 0,
        )
        self._owner.token_changed(self._link, previous.token if previous is not None else None)

    def begin_round(self, now: float) -> None:
        """A new `at` over every path."""
        assert self.exchange is not None
        self.exchange.originate(self._owner.wall(now))
        if self.exchange.session is not None:
            self.exchange.session.rest()  # most links are idle most of the time
        self._link.paths.begin_round(now)
        self.rounds.begin(now, self.jitter())
        self.send(self._link.paths.unanswered())

    def goes_on(self, now: float) -> bool:
        """Let a running round repeat or end; False when it was never answered."""
        is_answered = self.exchange is not None and self.exchange.is_synchronised
        match self.rounds.step(now, is_answered=is_answered):
            case HandshakeStep.REPEAT:
                self._link.paths.repeat_round()
                if self._link.is_lax and not is_answered and self.exchange is not None:
                    # A peer that has this `at` already stays silent, even if its answer was lost.
                    self.exchange.originate(self._owner.wall(now))
                self.send(self._link.paths.unanswered())
            case HandshakeStep.SETTLE:
                self._link.paths.end_round()
            case HandshakeStep.GIVE_UP:
                return False
        return True

    def send(self, paths: list[Path]) -> None:
        exchange = self.exchange
        assert exchange is not None
        for path in paths:
            if isinstance(path, PeerPath):  # a JavaScript router forwards the same bytes only once
                exchange.seal_anew()
            self._owner.send(self._link, path, exchange.handshake())

    def received(
        self, exchange: Exchange, at: int, verdict: HandshakeVerdict, path: Path, now: float
    ) -> None:
        """Learn what a handshake proves about the path it came by, and answer it there once."""
        state = self._link.paths.add(path, configured=False)
        if state is None:
            return
        is_echo = at & 1 == exchange.parity
        is_answer = state.sent_s is not None and (is_echo or state.proven)
        is_answer |= self._challenge == (path, at)
        if verdict is HandshakeVerdict.NEWER or is_answer:
            if not state.proven:
                self._owner.emit(PathFound(self._link, path))
            self._link.paths.answered(state, now, is_echo=is_echo)
            if exchange.is_synchronised and not self._link.paths.unanswered():
                self.rounds.end()
        elif not state.proven:
            self.rounds.hasten(now)
        # Once for each `at`, and again when it is repeated: then our answer was lost.
        if not is_echo and (state.answered_at != at or now >= state.answered_s + SPACING_S / 2):
            state.is_repeated = state.answered_at == at
            state.answered_at, state.answered_s = at, now
            self.send([path])

    def answer_stale(
        self, exchange: Exchange, opened: OpenedMessage, path: Path, now: float
    ) -> None:
        """Show the peer our `at`; one that restarted with a slow clock needs a fresh one."""
        # One a second, and a few at once: a peer that sends just one handshake must get its answer.
        if now + _STALE_BURST * SPACING_S <= self._stale_answer_from:
            return
        self._stale_answer_from = max(now, self._stale_answer_from) + SPACING_S
        state, token = self._link.paths.state(path), exchange.peer_token
        is_requested = state is not None and state.sent_s is not None
        # The JavaScript peer's first answer through a router is lost, and it sends no second one.
        is_requested &= not (self._link.is_lax and isinstance(path, PeerPath))
        if not is_requested if token is None else token != routing_token(opened.body):
            exchange.originate(self._owner.wall(now))
            self._challenge = (path, exchange.at)
        self.send([path])

    def jitter(self) -> float:
        """Between 0 and 1."""
        return self._owner.random(1)[0] / 255
