"""An outbox on real sockets: there and back, lost sessions, and every way to fail."""

import asyncio

import pytest

from rookery.errors import (
    ChannelError,
    CongestionError,
    DeniedError,
    UnreachableError,
    UsageError,
)
from rookery.outbox.intake import IncomingRequest
from rookery.outbox.limits import OutboxLimits
from rookery.outbox.outbox import OutboxAlarm
from rookery.outbox.state import RequestState
from rookery.runtime.outbox.outbox import AsyncOutbox
from rookery.runtime.outbox.socket_stream import OutboxSocketStream
from rookery.wire.outbox.frames import PAYLOAD_SIZE_MAX, Qos
from tests.patience import PATIENCE_S
from tests.runtime.outbox.town import ALICE, BOB, CAROL, sizes, town, until


@pytest.mark.parametrize("qos", Qos)
async def test_a_request_is_answered(qos: Qos) -> None:
    async with town() as there:
        assert await there.alice.send(BOB, b"hello", qos=qos, wants_reply=True) == b"re:hello"
        assert await there.bob.send(ALICE, b"and you", qos=qos, wants_reply=True) == b"re:and you"


async def test_without_a_reply_it_is_acknowledged() -> None:
    async with town() as there:
        assert await there.alice.send(BOB, b"hello") is None
        assert [arrival.payload for arrival in there.seen] == [b"hello"]


async def test_large_requests_pass_both_ways_at_once() -> None:
    async with town() as there:
        large = bytes(PAYLOAD_SIZE_MAX - 3)
        answers = await asyncio.gather(
            *(there.alice.send(BOB, large, wants_reply=True) for _ in range(4)),
            *(there.bob.send(ALICE, large, wants_reply=True) for _ in range(4)),
        )
        assert answers == [b"re:" + large] * 8


async def test_a_handler_may_ask_back() -> None:
    """The session reads on while a request is being handled."""

    async def ask_back(arrival: IncomingRequest) -> bytes | None:
        return await there.bob.send(ALICE, b"are you sure", wants_reply=True)

    async with town(handler=ask_back) as there:
        assert await there.alice.send(BOB, b"do it", wants_reply=True) == b"re:are you sure"


async def test_with_no_session_requests_wait_and_a_new_one_takes_them_in_order() -> None:
    """Q4: and with them those that were added meanwhile."""
    async with town(is_met=False) as there:
        requests = [there.alice.request(b"%d" % number) for number in range(100)]
        for request in requests:
            there.alice.peer(BOB).add_packet(request)
        await until(lambda: there.alice.wakes)
        assert {request.state for request in requests} == {RequestState.QUEUED}
        there.street.is_open = True
        await until(lambda: len(there.seen) == 100)
        assert [int(arrival.payload) for arrival in there.seen] == list(range(100))
        await until(lambda: all(request.state is RequestState.ACKNOWLEDGED for request in requests))
        for request in requests:
            request.release()


async def test_sessions_break_and_order_and_once_are_kept() -> None:
    """Q5: streams that break after some thousand bytes, at whatever byte that is."""
    async with town() as there:
        there.street.break_after = sizes(7, 300, 9000)
        there.street.cut()
        requests = []
        for number in range(2000):
            request = there.alice.request(b"%d" % number, qos=Qos.ONCE)
            there.alice.peer(BOB).add_packet(request)
            requests.append(request)
        await until(lambda: all(request.state.is_end for request in requests), 120)
        assert [int(arrival.payload) for arrival in there.seen] == list(range(2000))
        assert there.alice.peer(BOB).sessions > 5
        for request in requests:
            assert request.state is RequestState.ACKNOWLEDGED
            request.release()


async def test_what_the_handler_refuses_fails_here() -> None:
    async def refuse(arrival: IncomingRequest) -> bytes | None:
        raise DeniedError("not for you")

    async with town(handler=refuse) as there:
        with pytest.raises(ChannelError, match="not for you"):
            await there.alice.send(BOB, b"hello")


async def test_a_removed_peer_is_a_typed_error() -> None:
    """Q2: for who looks it up, who adds to it, and whose request waits."""
    async with town(is_met=False) as there:
        with pytest.raises(UnreachableError):
            there.alice.peer(CAROL)
        peer = there.alice.peer(BOB)
        waiting = asyncio.ensure_future(there.alice.send(BOB, b"hello"))  # noqa: TID251
        await until(lambda: peer.count)
        there.alice.remove_peer(BOB)
        with pytest.raises(UnreachableError, match="removed"):
            await waiting
        with pytest.raises(UnreachableError):
            there.alice.peer(BOB)
        request = there.alice.request(b"late")
        with pytest.raises(UnreachableError):
            peer.add_packet(request)
        request.release()
        assert not there.alice.core.pool.requests


async def test_a_full_outbox_says_so_and_can_be_waited_for() -> None:
    limits = OutboxLimits(peer_requests_max=10)
    async with town(limits=limits, is_met=False) as there:
        alarms: list[OutboxAlarm] = []
        there.alice.on_alarm = alarms.append
        for _ in range(10):
            request = there.alice.request(b"x")
            there.alice.peer(BOB).add_packet(request)
            request.release()
        extra = there.alice.request(b"x")
        with pytest.raises(CongestionError):
            there.alice.peer(BOB).add_packet(extra)
        await until(lambda: alarms)
        assert alarms[0].is_on
        there.street.is_open = True
        async with asyncio.timeout(PATIENCE_S):
            await there.alice.room(BOB, extra.size)
        there.alice.peer(BOB).add_packet(extra)
        await until(lambda: extra.state is RequestState.ACKNOWLEDGED)
        extra.release()
        await until(lambda: not alarms[-1].is_on)


async def test_an_oversized_request_is_refused_where_it_is_made() -> None:
    async with town() as there:
        with pytest.raises(UsageError):
            there.alice.request(bytes(PAYLOAD_SIZE_MAX + 1))
        with pytest.raises(UsageError):
            await there.alice.send(BOB, bytes(PAYLOAD_SIZE_MAX + 1))
        assert not there.alice.core.pool.requests


async def test_expired_before_anybody_could_be_reached() -> None:
    async with town(is_met=False) as there:
        with pytest.raises(UnreachableError, match="expired"):
            await there.alice.send(BOB, b"now or never", expires_s=0.05)
        assert not there.alice.core.pool.requests
        there.street.is_open = True
        await there.alice.send(BOB, b"later")
        assert [arrival.payload for arrival in there.seen] == [b"later"]


async def test_giving_up_waiting_cancels_the_request() -> None:
    async with town(is_met=False) as there:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await there.alice.send(BOB, b"hello")
        await until(lambda: not there.alice.core.pool.requests)
        assert there.alice.core.totals[RequestState.CANCELLED] == 1


async def test_a_stranger_is_told_so() -> None:
    async with town() as there:
        carol = AsyncOutbox("a" * 50 + "ba", dial=there.street.dial)
        try:
            peer = carol.add_peer(BOB)
            await until(lambda: "no peer" in carol.last_error(peer))
            assert not peer.sessions
        finally:
            await carol.close()


async def test_bytes_that_are_no_session_end_it() -> None:
    async with town() as there:
        stream = await OutboxSocketStream.connect("127.0.0.1", there.street.port)
        await stream.write(b"GET / HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(PATIENCE_S):
            assert b"introduction" in await stream.read(1000)
        stream.abort(0)
        await there.alice.send(BOB, b"still here")


async def test_a_newer_session_takes_the_place_of_an_older_one() -> None:
    async with town() as there:
        await there.alice.send(BOB, b"one")
        bob = there.bob.peer(ALICE)
        stream = await there.street.dial(BOB)
        await stream.write(there.alice.peer(BOB).introduction.serialize())
        await until(lambda: bob.sessions == 2)
        stream.abort(0)
        await there.alice.send(BOB, b"two")
        assert bob.sessions >= 3
