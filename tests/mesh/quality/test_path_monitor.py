"""M2: pings as frames."""

from rookery.mesh.quality.liveness import PathCondition
from rookery.mesh.quality.path_monitor import PathMonitor
from rookery.wire.link.path import NetPath
from rookery.wire.mesh.ping import DATA_SIZE, SMALL_SIZE, Ping, Pong

PATH = NetPath("udp4", "192.0.2.1", 42424)


def test_an_answer_is_as_large_as_its_question_and_tells_what_came() -> None:
    """R5: so that one exchange proves a size in both directions."""
    asker, answerer = PathMonitor(PATH, 0.0, attempt=9), PathMonitor(PATH, 5.0, attempt=9)
    for size in (SMALL_SIZE, DATA_SIZE):
        ping = Ping.parse(*asker.probe(size, 1.0))
        frame = answerer.ping_received(ping, 6.0)
        assert frame is not None
        pong = Pong.parse(*frame)
        assert pong.size == ping.size == size
        assert pong.report.heard == ping.sequence
        asker.pong_received(pong, 1.25)
    assert asker.condition is PathCondition.UP
    assert asker.quality.srtt_s == 0.25
    assert asker.liveness.patience_s == asker.quality.patience_s
    assert answerer.condition is PathCondition.JOINING, "it has not asked itself"
    assert answerer.quality.received_size == SMALL_SIZE + DATA_SIZE


def test_an_attempt_of_long_ago_proves_nothing() -> None:
    """M10"""
    asker, answerer = PathMonitor(PATH, 0.0, attempt=1), PathMonitor(PATH, 0.0, attempt=2)
    ping = Ping.parse(*asker.probe(DATA_SIZE, 1.0))
    assert answerer.ping_received(ping, 1.0) is None
    twin = PathMonitor(PATH, 0.0, attempt=1)
    frame = twin.ping_received(ping, 1.0)
    assert frame is not None
    answerer.probe(DATA_SIZE, 1.0)
    assert answerer.pong_received(Pong.parse(*frame), 1.1) is None
    assert answerer.condition is PathCondition.JOINING
    assert answerer.ignored == 2
