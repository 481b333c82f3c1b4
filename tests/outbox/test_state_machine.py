"""Q1–Q7 under any order of events: adds, cancels, time, sessions cut at any byte, restarts.

The invariants are checked after every step, from what a program sees and from the bytes that leave:
first writes in the order of adding, one end for each request, no byte of a request whose
`set_invalid` won, queued exactly while in one list, and in the end no reference left.
"""

from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rookery.errors import CongestionError
from rookery.outbox.intake import IncomingRequest, RequestOutcome
from rookery.outbox.limits import REQUEST_OVERHEAD, OutboxLimits
from rookery.outbox.request import OutboxRequest
from rookery.outbox.state import RequestFailure, RequestState
from rookery.wire.outbox.frames import OutboxErrorCode, Qos
from tests.outbox.ends import BOB, End, Pair, Tap, numbering

LIMITS = OutboxLimits(
    peer_requests_max=12,
    peer_bytes_max=12 * (REQUEST_OVERHEAD + 20),
    session_queue_max=3,
    window_requests=4,
    window_bytes=60,
)

LARGE = 1000
INTRODUCTION_SIZE = 78
SIZES = st.integers(0, 16) | st.integers(17, 120) | st.just(LARGE)


class OutboxMachine(RuleBasedStateMachine):
    """Alice sends to bob, who forgets everything when he restarts; sometimes bob sends, too."""

    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(LIMITS)
        self.number = 0
        self.requests: list[OutboxRequest] = []
        self.won: set[bytes] = set()  # payloads that set_invalid kept from being written
        self.handled: Counter[bytes] = Counter()
        self.handled_by_this_bob: list[tuple[int, int]] = []
        self.begun: list[OutboxRequest] = []
        self.tap = Tap()
        self.whole: set[bytes] = set()  # payloads of which all bytes have left

    @property
    def alice(self) -> End:
        return self.pair.alice

    @property
    def bob(self) -> End:
        return self.pair.bob

    # --- what programs do ---

    @rule(
        qos=st.sampled_from(Qos),
        wants_reply=st.booleans(),
        size=st.integers(0, 30),
        life_s=st.none() | st.integers(0, 5),
    )
    def add(self, qos: Qos, wants_reply: bool, size: int, life_s: int | None) -> None:
        self.number += 1
        payload = b"%06d" % self.number + bytes(size)
        expires_at = None if life_s is None else self.pair.now + life_s
        request = self.alice.request(payload, qos, expires_at=expires_at, wants_reply=wants_reply)
        try:
            self.alice.peer.add_packet(request)
        except CongestionError:
            assert self.alice.peer.count > 0
            request.release()
            return
        self.requests.append(request)
        if self.number % 2:
            self.alice.outbox.process(self.pair.now)

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def set_invalid(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.requests))
        payload = request.payload
        is_begun = request.has_begun
        won = request.set_invalid()
        assert won is not is_begun
        if won:
            self.won.add(payload)
        assert request.is_valid() is is_begun

    @rule()
    def bob_sends_too(self) -> None:
        if self.bob.peer.count < LIMITS.peer_requests_max:
            self.bob.add(b"from bob", Qos.ONCE, self.pair.now, wants_reply=True).release()

    # --- what the loop does ---

    @rule()
    def process(self) -> None:
        self.alice.outbox.process(self.pair.now)

    @rule(seconds=st.integers(0, 4), fires=st.booleans())
    def time_passes(self, seconds: int, fires: bool) -> None:
        """The timer may be late."""
        self.pair.now += seconds
        if fires:
            self.alice.outbox.tick(self.pair.now)

    # --- what the streams do ---

    @rule(is_introduced=st.booleans())
    def session_up(self, is_introduced: bool) -> None:
        """Also when one side has not noticed that the one before is gone."""
        self.alice.lose(self.pair.now)
        self.pair.connect()
        self.tap = Tap()
        if is_introduced:
            self.alice.outbox.process(self.pair.now)
            self.alice_writes(INTRODUCTION_SIZE)
            self.bob_writes(INTRODUCTION_SIZE)
            self.bytes_reach(INTRODUCTION_SIZE, INTRODUCTION_SIZE)

    @rule(size=SIZES)
    def alice_writes(self, size: int) -> None:
        before = [request for request in self.requests if request.has_begun]
        self.whole.update(self.tap.feed(self.alice.write(self.pair.now, size)))
        now_begun = [request for request in self.requests if request.has_begun]
        self.begun += [request for request in now_begun if request not in before]

    @rule(size=SIZES)
    def bob_writes(self, size: int) -> None:
        self.bob.write(self.pair.now, size)

    @rule(to_bob=SIZES, to_alice=SIZES)
    def bytes_reach(self, to_bob: int, to_alice: int) -> None:
        self.pair.pass_on(self.alice, to_bob)
        self.pair.pass_on(self.bob, to_alice)

    @rule(there=SIZES, back=SIZES, fails=st.booleans())
    def requests_go_there_and_answers_back(self, there: int, back: int, fails: bool) -> None:
        if self.alice.session is None or self.bob.session is None:
            self.session_up(True)
        self.alice_writes(LARGE)
        self.bytes_reach(there, LARGE)
        self.handle(fails)
        self.bob_writes(LARGE)
        self.bytes_reach(0, back)

    # --- what bob does ---

    @rule(fails=st.booleans())
    def handle(self, fails: bool) -> None:
        outcome = RequestOutcome(code=OutboxErrorCode.HANDLER_FAILED, text="no") if fails else None
        while self.bob.arrivals:
            self._note(self.bob.handle(outcome))
            if fails:
                break
        while self.alice.arrivals:
            self.alice.handle()

    @rule(mishap=st.sampled_from(["bob restarts", "alice loses", "bob loses", "bob is removed"]))
    def mishap(self, mishap: str) -> None:
        match mishap:
            case "alice loses":
                self.alice.lose(self.pair.now)
            case "bob loses":
                self.bob.lose(self.pair.now)
            case "bob restarts":
                self.bob_restarts()
            case _:
                self.alice_removes_bob()

    @rule(size=st.integers(1, 60))
    def the_session_breaks_in_the_middle_of_a_write(self, size: int) -> None:
        if self.alice.session is None or self.bob.session is None:
            self.session_up(True)
        self.alice_writes(size)
        self.alice.lose(self.pair.now)

    @rule(there=SIZES)
    def bob_dies_before_he_is_heard(self, there: int) -> None:
        """He handled something, and nobody knows."""
        if self.alice.session is None or self.bob.session is None:
            self.session_up(True)
        self.alice_writes(LARGE)
        self.bytes_reach(there, 0)
        self.handle(False)
        self.bob_restarts()

    def bob_restarts(self) -> None:
        """And remembers nothing."""
        self.pair.bob = End(BOB, self.alice.name, LIMITS)
        self.alice.stream = b""
        self.handled_by_this_bob = []

    def alice_removes_bob(self) -> None:
        self.alice.outbox.remove_peer(BOB, self.pair.now)
        self.alice.session = None
        assert all(request.state.is_end for request in self.requests)
        self.alice.outbox.add_peer(BOB, numbering())

    def _note(self, arrival: IncomingRequest) -> None:
        self.handled[arrival.payload] += 1
        self.handled_by_this_bob.append((arrival.epoch, arrival.id))

    # --- what must always hold ---

    @invariant()
    def first_writes_are_in_the_order_of_adding(self) -> None:
        places = [self.requests.index(request) for request in self.begun]
        assert places == sorted(places)
        assert self.tap.whole == sorted(set(self.tap.whole))

    @invariant()
    def nothing_that_was_cancelled_or_expired_is_handled(self) -> None:
        assert not self.won & set(self.handled)
        for request in self.requests:
            if request.state in (RequestState.CANCELLED, RequestState.EXPIRED) or (
                request.failure is RequestFailure.PEER_REMOVED
            ):
                assert not self.handled[request.payload]

    @invariant()
    def a_queued_request_is_in_exactly_one_list(self) -> None:
        listed = Counter(self.alice.peer.requests())
        assert all(times == 1 for times in listed.values())
        for request in self.requests:
            is_written = request.state is RequestState.WRITTEN
            assert request.is_queued is (request in listed and not is_written)
            assert (request in listed) is not request.state.is_end
        assert self.alice.peer.count == len(listed)
        assert self.alice.peer.bytes == sum(request.size for request in listed)

    @invariant()
    def every_request_ends_once(self) -> None:
        for request in self.requests:
            assert self.alice.ends[request] == request.state.is_end
            assert request.references == 2 - request.state.is_end
            assert (request.error is None) == (
                not request.state.is_end
                or request.state in (RequestState.ACKNOWLEDGED, RequestState.ANSWERED)
            )

    @invariant()
    def the_quality_of_service_is_kept(self) -> None:
        assert self.handled_by_this_bob == list(dict.fromkeys(self.handled_by_this_bob))
        for request in self.requests:
            times = self.handled[request.payload]
            if request.qos is not Qos.ONCE_AT_LEAST:
                assert times <= 1
            if request.state in (RequestState.ACKNOWLEDGED, RequestState.ANSWERED):
                assert times >= 1
            if request.state is RequestState.ANSWERED:
                assert request.answer == b"re:" + request.payload
            if request.failure is RequestFailure.FATE_UNKNOWN:
                assert request.payload in self.whole

    def teardown(self) -> None:
        """Whatever happened, one good session brings everything to an end."""
        self.pair.lose()
        self.pair.connect()
        self.tap = Tap()
        for arrival in self.pair.settle():
            if arrival.origin == self.alice.name:
                self._note(arrival)
        for request in self.requests:
            assert request.state.is_end
        self.every_request_ends_once()
        self.nothing_that_was_cancelled_or_expired_is_handled()
        self.the_quality_of_service_is_kept()
        for request in self.requests:
            request.release()
        assert not self.alice.outbox.pool.requests
        assert not self.alice.outbox.pool.bytes_used
        assert not self.alice.peer.count
        assert not self.bob.outbox.pool.requests


OutboxMachine.TestCase.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
TestOutbox = OutboxMachine.TestCase
