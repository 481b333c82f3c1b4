"""M7: physical connections, and how each way of failing is called."""

import asyncio
import errno

import pytest

from rookery.errors import CongestionError, DeniedError, UnreachableError
from rookery.link.channels.sock import Address, Protocol
from rookery.mesh.proxy.fault import ConnectError, Fault
from rookery.mesh.proxy.opening import Net
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.proxy.dialler import Dialler, dial, open_datagrams, resolved
from rookery.runtime.proxy.socket_stream import SocketStream
from tests.runtime.proxy.servers import closed_port, echo_server
from tests.runtime.proxy.town import ALICE


def tcp(port: int, host: str = "a.example") -> Net:
    return Net(Protocol.TCP, host, port)


async def test_the_next_address_is_tried_when_one_refuses() -> None:
    async with echo_server() as port:
        stream = await dial(tcp(port), ["127.0.0.2", "127.0.0.1"])
        assert stream.remote == Address("127.0.0.1", port)
        assert stream.local.host == "127.0.0.1"
        await stream.close()


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ConnectionRefusedError(), Fault.REFUSED),
        (OSError(errno.EHOSTUNREACH, ""), Fault.UNREACHABLE),
        (OSError(errno.EMFILE, ""), Fault.BUSY),
    ],
)
async def test_every_failure_has_its_name(
    error: OSError, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(ip: str, port: int) -> SocketStream:
        raise error

    monkeypatch.setattr(SocketStream, "connect", fail)
    with pytest.raises((ConnectError, CongestionError)) as failed:
        await dial(tcp(80), ["192.0.2.1"])
    assert fault is (failed.value.fault if isinstance(failed.value, ConnectError) else Fault.BUSY)


async def test_a_host_that_never_answers_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def hang(ip: str, port: int) -> SocketStream:
        asked.append(ip)
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(SocketStream, "connect", hang)
    with pytest.raises(ConnectError, match="timeout"):
        await dial(tcp(80), [f"192.0.2.{number}" for number in range(9)], 0.1)
    assert len(asked) == 4  # of nine: each has its share of the time, and no more than four do


async def test_a_broken_resolver_is_given_up_on() -> None:
    async def hang(host: str, port: int, protocol: Protocol) -> list[str]:
        await asyncio.Event().wait()
        return []

    assert await resolved(tcp(80), 0.01, hang) == []


async def test_datagrams_to_no_address_are_unreachable() -> None:
    with pytest.raises(UnreachableError):
        await open_datagrams(Net(Protocol.UDP, "x", 9), "256.0.0.1")


async def test_a_refusal_by_the_allowed_address_is_all_that_is_told() -> None:
    async def both(host: str, port: int, protocol: Protocol) -> list[str]:
        return ["10.0.0.1", "127.0.0.1"]

    dialler = Dialler(ProxyRules.parse(["tcp 127.0.0.1:*"]), resolve=both)
    async with closed_port() as port:
        with pytest.raises(ConnectError, match="refused"):
            await dialler.tcp(tcp(port), ALICE)
    with pytest.raises(DeniedError):
        await dialler.udp(Net(Protocol.UDP, "a.example", 9), ALICE)
