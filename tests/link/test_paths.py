"""Which path carries the traffic."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.link.paths import PATHS_MAX, ROUNDS_FORGOTTEN, ROUNDS_MISSED_MAX, Paths, PathState
from rookery.wire.link.path import NetPath, Path, PeerPath, RoutePath, UrlPath

NEAR = NetPath("udp4", "10.0.0.1", 1)
FAR = NetPath("udp4", "10.0.0.2", 1)
STREAM = NetPath("tcp4", "10.0.0.3", 1)
RELAY = PeerPath("r" * 52)
ROUTE = RoutePath("p" * 52)


class Set(Paths):
    """Paths that remember which of them went, and which failed."""

    def __init__(self) -> None:
        self.gone: list[Path] = []
        self.failed: list[Path] = []
        super().__init__(self.gone.append, self.failed.append)

    def proven(self, path: Path, rtt: float, *, configured: bool = False) -> PathState:
        state = self.add(path, configured=configured)
        assert state is not None
        state.sent_s = 0.0
        self.answered(state, rtt, is_echo=True)
        return state


def test_a_path_that_was_only_advertised_carries_nothing() -> None:
    """T2: a forged address must not draw traffic."""
    paths = Set()
    paths.add(NEAR, configured=True)
    assert paths.best is None
    assert paths.for_size(10, 1400) is None


def test_the_quickest_path_is_the_best() -> None:
    paths = Set()
    paths.proven(FAR, 0.2)
    paths.proven(NEAR, 0.01)
    assert paths.best == NEAR


def test_traffic_does_not_move_for_a_little() -> None:
    paths = Set()
    paths.proven(FAR, 0.100)
    paths.proven(NEAR, 0.080)
    assert paths.best == FAR


def test_any_direct_path_beats_any_relay() -> None:
    paths = Set()
    paths.proven(RELAY, 0.001)
    paths.proven(FAR, 3.0)
    assert paths.best == FAR


def test_a_link_moves_from_a_route_to_a_direct_path_that_is_no_worse() -> None:
    """M4: a route through the mesh is one more path."""
    paths = Set()
    paths.proven(ROUTE, 0.100)
    paths.proven(FAR, 0.110)
    assert paths.best == FAR


def test_a_route_wins_only_when_it_is_clearly_better_than_the_direct_path() -> None:
    """R6."""
    paths = Set()
    paths.proven(FAR, 0.100)
    paths.proven(ROUTE, 0.070)
    assert paths.best == FAR
    quicker = Set()
    quicker.proven(FAR, 0.100)
    quicker.proven(ROUTE, 0.040)
    assert quicker.best == ROUTE


def test_what_is_meant_for_the_peer_alone_takes_no_route() -> None:
    paths = Set()
    paths.proven(ROUTE, 0.001)
    assert paths.direct_for_size(10, 1400) is None
    paths.proven(FAR, 1.0)
    paths.proven(STREAM, 2.0)
    assert paths.best == ROUTE
    assert paths.direct_for_size(10, 1400) == FAR
    assert paths.direct_for_size(5000, 1400) == STREAM


def test_what_is_measured_from_outside_moves_the_traffic() -> None:
    """M2."""
    paths = Set()
    paths.proven(NEAR, 0.010)
    paths.proven(FAR, 0.020)
    for _ in range(40):
        paths.measure(NEAR, 0.200)
    assert paths.best == FAR
    paths.measure(RELAY, 0.001)
    paths.prove(RELAY, 0.001)
    paths.distrust(RELAY)
    assert RELAY not in paths


def test_a_path_that_misses_rounds_is_left() -> None:
    paths = Set()
    paths.proven(NEAR, 0.01)
    far = paths.proven(FAR, 0.5)
    for _ in range(ROUNDS_MISSED_MAX):
        assert paths.best is not None
        paths.begin_round(1.0)
        paths.answered(far, 1.5, is_echo=True)
        paths.end_round()
    assert paths.best == FAR
    near = paths.state(NEAR)
    assert near is not None
    assert not near.is_usable
    paths.begin_round(2.0)
    paths.answered(near, 2.01, is_echo=True)
    assert paths.best == NEAR


def test_traffic_moves_as_soon_as_a_round_must_be_repeated_on_the_best_path() -> None:
    paths = Set()
    paths.proven(NEAR, 0.01)
    far = paths.proven(FAR, 0.3)
    paths.begin_round(10.0)
    paths.answered(far, 10.3, is_echo=True)
    assert paths.best == NEAR
    paths.repeat_round()
    assert paths.best == FAR
    assert paths.unanswered() == [NEAR]


def test_an_ambiguous_answer_is_not_measured() -> None:
    paths = Set()
    near = paths.proven(NEAR, 0.01)
    paths.begin_round(10.0)
    paths.repeat_round()
    paths.answered(near, 11.5, is_echo=True)
    assert near.rtt == 0.01


def test_a_fresh_handshake_proves_without_measuring_twice() -> None:
    paths = Set()
    near = paths.proven(NEAR, 0.01)
    paths.begin_round(10.0)
    paths.answered(near, 15.0, is_echo=False)
    assert near.rtt == 0.01
    assert near.is_usable


def test_advertised_paths_are_forgotten_and_configured_ones_are_not() -> None:
    paths = Set()
    paths.add(NEAR, configured=True)
    paths.add(FAR, configured=False)
    for number in range(ROUNDS_FORGOTTEN + 1):
        paths.begin_round(float(number))
    assert NEAR in paths
    assert paths.gone == [FAR]


def test_an_advertised_path_may_become_configured() -> None:
    paths = Set()
    paths.add(NEAR, configured=False)
    paths.add(NEAR, configured=True)
    paths.silence()
    assert NEAR in paths


def test_a_lost_connection_moves_the_traffic() -> None:
    paths = Set()
    paths.proven(STREAM, 0.01)
    paths.proven(FAR, 0.5)
    paths.lose(STREAM)
    paths.lose(STREAM)
    assert paths.best == FAR
    assert paths.gone == [STREAM]


def test_a_path_is_reported_failed_once_and_only_if_it_carried_traffic() -> None:
    """R9: whatever ends it, somebody has to send again what it took."""
    paths = Set()
    paths.proven(NEAR, 0.01)
    paths.proven(FAR, 0.05)
    paths.add(STREAM, configured=False)
    paths.lose(STREAM)
    assert paths.failed == []
    paths.distrust(NEAR)
    paths.distrust(NEAR)
    assert paths.failed == [NEAR]
    assert paths.best == FAR
    paths.prove(NEAR, 0.01)
    paths.discard(NEAR)
    paths.lose(FAR)
    assert paths.failed == [NEAR, NEAR, FAR]


def test_missed_rounds_are_a_failure_and_the_fall_of_the_link_is_not() -> None:
    paths = Set()
    paths.proven(NEAR, 0.01)
    paths.proven(FAR, 0.05)
    for now in range(ROUNDS_MISSED_MAX + 1):
        paths.begin_round(now)
        state = paths.state(FAR)
        assert state is not None
        paths.answered(state, now + 0.05, is_echo=True)
    assert paths.failed == [NEAR]
    paths.silence()
    paths.proven(FAR, 0.05)
    assert paths.failed == [NEAR]


def test_a_configured_connection_that_is_lost_may_be_dialled_again() -> None:
    paths = Set()
    paths.proven(STREAM, 0.01, configured=True)
    paths.lose(STREAM)
    assert paths.best is None
    assert STREAM in paths
    paths.discard(STREAM)
    paths.discard(STREAM)
    assert len(paths) == 0


def test_a_fallen_link_trusts_no_path() -> None:
    paths = Set()
    paths.proven(NEAR, 0.01, configured=True)
    paths.proven(FAR, 0.01)
    paths.silence()
    assert paths.best is None
    assert [state.path for state in paths] == [NEAR]
    assert paths.gone == [FAR]


def test_what_no_datagram_carries_takes_a_stream() -> None:
    paths = Set()
    paths.proven(NEAR, 0.01)
    assert paths.for_size(9000, 1400) == NEAR
    paths.proven(STREAM, 0.5)
    assert paths.for_size(9000, 1400) == STREAM
    assert paths.for_size(100, 1400) == NEAR
    paths.discard(NEAR)
    assert paths.for_size(9000, 1400) == STREAM


def test_urls_and_connections_are_streams() -> None:
    kinds = (NEAR, STREAM, UrlPath("http://10.0.0.1/"), RELAY)
    streams = [PathState(path, configured=False).is_stream for path in kinds]
    assert streams == [False, True, True, False]


@given(st.lists(st.tuples(st.integers(0, 40), st.booleans(), st.booleans()), max_size=120))
def test_the_set_is_bounded_and_keeps_what_works(steps: list[tuple[int, bool, bool]]) -> None:
    """T2: strangers' paths make room for the user's, never the other way round."""
    paths, configured_paths = Set(), set[Path]()
    for number, configured, is_answer in steps:
        path = NetPath("udp4", "10.0.0.9", number + 1)
        best = paths.best
        state = paths.add(path, configured=configured)
        if state is not None and configured:
            configured_paths.add(path)
        if state is not None and is_answer:
            paths.answered(state, 0.0, is_echo=False)
        assert len(paths) <= PATHS_MAX
        assert best is None or best in paths or configured
        assert all(path in paths for path in configured_paths)
        assert not any(path in paths for path in set(paths.gone) - {s.path for s in paths})
