"""Discovery by multicast on loopback: off by default, heard always (T6)."""

import asyncio
import socket
from collections.abc import Callable

import pytest

import rookery
from rookery.link.discovery.announcement import PORT
from rookery.link.session.handshake import Stranger
from rookery.runtime.endpoint.discovery import AnnouncementListener, announcement_targets
from tests.patience import PATIENCE_S
from tests.runtime.recorder import Recorder


def waiting_for(hashname: str) -> tuple[asyncio.Future[Stranger], Callable[[Stranger], None]]:
    """Other tests announce themselves on the same group; only one endpoint is of interest."""
    found: asyncio.Future[Stranger] = asyncio.get_running_loop().create_future()

    def on_discover(stranger: Stranger) -> None:
        if stranger.hashname == hashname and not found.done():
            found.set_result(stranger)

    return found, on_discover


async def test_an_announcement_is_heard_with_discovery_off_and_leads_to_a_link() -> None:
    """T6: listening is always on, and what is heard is enough to link."""
    async with rookery.create() as alice, rookery.create() as bob:
        found, bob.on_discover = waiting_for(alice.hashname)
        alice.on_discover = alice.link
        assert not alice.is_discoverable
        alice.discover()
        assert alice.is_discoverable
        async with asyncio.timeout(PATIENCE_S):
            stranger = await found
        assert not stranger.is_proven
        link = await bob.link(stranger).up()
        assert link.hashname == alice.hashname
        assert not bob.is_discoverable


async def test_announcing_can_be_stopped() -> None:
    """T6."""
    async with rookery.create() as endpoint:
        endpoint.discover()
        endpoint.discover(False)
        await asyncio.sleep(0)
        assert not endpoint.is_discoverable


def test_loopback_announcements_stay_on_the_machine() -> None:
    """T6: no broadcast from a loopback address."""
    assert [path.ip for path in announcement_targets("127.0.0.1")] == ["239.42.42.42"]
    assert "255.255.255.255" in [path.ip for path in announcement_targets("192.0.2.1")]


async def test_only_announcements_pass_the_shared_port() -> None:
    """T6: handshakes and noise sent to the announcement port reach nobody."""
    recorder = Recorder()
    listener = AnnouncementListener(recorder, "127.0.0.1")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.setsockopt(
                socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1")
            )
            marked = b'\x00\x12{"type":"hn","hn":' + b"1}"
            for data in (
                b"",
                b"\x00",
                b"\x00\x01\x3a" + b"x" * 99,
                b"\x00\x00" + b"y" * 40,
                marked,
            ):
                sender.sendto(data, ("239.42.42.42", PORT))
            await recorder.until(lambda: bool(recorder.packets))
        assert all(packet.is_json for _, packet in recorder.packets)
    finally:
        listener.close()


async def test_a_taken_port_costs_only_the_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    """T6."""

    def refuse(*_: object) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr("rookery.runtime.endpoint.discovery._group_socket", refuse)
    async with rookery.create() as alice, rookery.create() as bob:
        bob.on_discover = bob.link
        assert (await alice.link(bob.address).up()).is_up
