"""M7: physical connections, and how each way of failing is called."""

import asyncio
import errno

import pytest

from rookery.errors import CongestionError, DeniedError, UnreachableError
from rookery.link.channels.sock import SockAddress, SockProtocol
from rookery.mesh.proxy.fault import ProxyConnectError, ProxyFault
from rookery.mesh.proxy.opening import NetTarget
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.proxy.dialler import Dialler, dial, open_datagrams, resolved
from rookery.runtime.proxy.tcp_stream import TcpStream
from tests.runtime.proxy.servers import closed_port, echo_server
from tests.runtime.proxy.town import ALICE


def tcp(port: int, host: str = "a.example") -> NetTarget:
    return NetTarget(SockProtocol.TCP, host, port)


async def test_the_next_address_is_tried_when_one_refuses() -> None:
    async with echo_server() as port:
        stream = await dial(tcp(port), ["127.0.0.2", "127.0.0.1"])
        assert stream.remote == SockAddress("127.0.0.1", port)
        assert stream.local.host == "127.0.0.1"
        await stream.close()


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ConnectionRefusedError(), ProxyFault.REFUSED),
        (OSError(errno.EHOSTUNREACH, ""), ProxyFault.UNREACHABLE),
        (OSError(errno.EMFILE, ""), ProxyFault.BUSY),
    ],
)
async def test_every_failure_has_its_name(
    error: OSError, fault: ProxyFault, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(ip: str, port: int) -> TcpStream:
        raise error

    monkeypatch.setattr(TcpStream, "connect", fail)
    with pytest.raises((ProxyConnectError, CongestionError)) as failed:
        await dial(tcp(80), ["192.0.2.1"])
    assert fault is (
        failed.value.fault if isinstance(failed.value, ProxyConnectError) else ProxyFault.BUSY
    )


async def test_a_host_that_never_answers_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def hang(ip: str, port: int) -> TcpStream:
        asked.append(ip)
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(TcpStream, "connect", hang)
    with pytest.raises(ProxyConnectError, match="timeout"):
        await dial(tcp(80), [f"192.0.2.{number}" for number in range(9)], 0.1)
    assert len(asked) == 4  # of nine: each has its share of the time, and no more than four do


async def test_a_broken_resolver_is_given_up_on() -> None:
    async def hang(host: str, port: int, protocol: SockProtocol) -> list[str]:
        await asyncio.Event().wait()
        return []

    assert await resolved(tcp(80), 0.01, hang) == []


async def test_datagrams_to_no_address_are_unreachable() -> None:
    with pytest.raises(UnreachableError):
        await open_datagrams(NetTarget(SockProtocol.UDP, "x", 9), "256.0.0.1")


async def test_a_refusal_by_the_allowed_address_is_all_that_is_told() -> None:
    async def both(host: str, port: int, protocol: SockProtocol) -> list[str]:
        return ["10.0.0.1", "127.0.0.1"]

    dialler = Dialler(ProxyRules.parse(["tcp 127.0.0.1:*"]), resolve=both)
    async with closed_port() as port:
        with pytest.raises(ProxyConnectError, match="refused"):
            await dialler.tcp(tcp(port), ALICE)
    with pytest.raises(DeniedError):
        await dialler.udp(NetTarget(SockProtocol.UDP, "a.example", 9), ALICE)
