"""M7: each rule of default deny, row by row, and what is then really dialled.

The exit is the real one; the system's `connect` is replaced by one that writes down whom it was
called for and refuses, so that no row reaches anybody.
"""

import asyncio
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import Iterable
from pathlib import Path

import pytest

from rookery.link.channels.sock import SockProtocol
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.rules import ProxyRules
from rookery.runtime.proxy.answers import ask
from rookery.runtime.proxy.serial_devices import SerialDevices
from rookery.runtime.proxy.service import ProxyService
from tests.patience import PATIENCE_S
from tests.runtime.proxy.servers import gadget
from tests.runtime.proxy.town import ALICE, BOB, CAROL, Town

PUBLIC, OTHER = "93.184.216.34", "93.184.216.35"
EVERYTHING = ["tcp *:*", "udp *:*", "tcp 0.0.0.0/0:*", "tcp [::]/0:*", "tcp *.example:*"]

Dialled = list[tuple[str, int]]


class Names:
    """A resolver: each question takes the next answer, the last one for good."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def resolve(self, host: str, port: int, protocol: SockProtocol) -> list[str]:
        self.asked += 1
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


NO_NAMES = Names([])


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> Dialled:
    """Whom the exit tried to reach."""
    tried: Dialled = []

    async def sock_connect(loop: object, sock: object, address: tuple[str, int]) -> None:
        tried.append((address[0], address[1]))
        raise ConnectionRefusedError

    monkeypatch.setattr(BaseSelectorEventLoop, "sock_connect", sock_connect)
    return tried


async def answered(
    rules: Iterable[str],
    meta: dict[str, object],
    names: Names = NO_NAMES,
    who: str = ALICE,
    folder: Path | None = None,
) -> ProxyFault | None:
    """What an exit with these rules tells this member."""
    devices = SerialDevices() if folder is None else SerialDevices(folder=str(folder))
    async with Town() as town, asyncio.timeout(PATIENCE_S):
        service = ProxyService(
            ProxyRules.parse(list(rules)),
            open_stream=town.opener(BOB),
            devices=devices,
            resolve=names.resolve,
        )
        town.serve(BOB, service.handle)
        stream, answer = await ask(town.opener(who), BOB, meta)
        stream.abort(0)
        return answer.fault


def net(kind: str, host: str, port: int) -> dict[str, object]:
    return {"type": kind, "host": host, "port": port}


def line(name: str) -> dict[str, object]:
    return {"type": "serial", "name": name}


def listen(port: int) -> dict[str, object]:
    return {"type": "listen", "port": port, "token": "0" * 32}


# --- addresses, ports and protocols ---

ADDRESS_ROWS = [
    ([], "tcp", PUBLIC, 443, False),
    ([], "udp", PUBLIC, 443, False),
    (["tcp *:443"], "tcp", PUBLIC, 443, True),
    (["tcp *:443"], "tcp", PUBLIC, 80, False),
    (["tcp *:443"], "udp", PUBLIC, 443, False),
    (["udp *:53"], "udp", PUBLIC, 53, True),
    (["udp *:53"], "tcp", PUBLIC, 53, False),
    (["tcp *:8000-8099"], "tcp", PUBLIC, 7999, False),
    (["tcp *:8000-8099"], "tcp", PUBLIC, 8000, True),
    (["tcp *:8000-8099"], "tcp", PUBLIC, 8099, True),
    (["tcp *:8000-8099"], "tcp", PUBLIC, 8100, False),
    ([f"tcp {PUBLIC}:443"], "tcp", PUBLIC, 443, True),
    ([f"tcp {PUBLIC}:443"], "tcp", OTHER, 443, False),
    (["tcp 93.184.216.32/30:443"], "tcp", OTHER, 443, True),
    (["tcp 93.184.216.36/30:443"], "tcp", OTHER, 443, False),
    (["tcp www.example:443"], "tcp", PUBLIC, 443, False),  # asked for by address, not by name
    (["tcp 10.0.0.0/8:22"], "tcp", "10.1.2.3", 22, True),
    (["tcp 10.0.0.0/8:22"], "tcp", "11.1.2.3", 22, False),
    (["tcp 10.0.0.0/7:22"], "tcp", "10.1.2.3", 22, False),  # more than the private block
    (["tcp localhost:22"], "tcp", "127.0.0.1", 22, True),
    (["tcp localhost:22"], "tcp", "10.0.0.1", 22, False),
    (["tcp 127.0.0.1:22"], "tcp", "::ffff:127.0.0.1", 22, True),  # the same host in other clothes
    (["tcp [::ffff:0:0]/96:22"], "tcp", "::ffff:127.0.0.1", 22, False),
    (["bind tcp 127.0.0.1:22"], "tcp", "127.0.0.1", 22, False),  # to listen is not to connect
    (["serial *"], "tcp", PUBLIC, 443, False),
]


@pytest.mark.parametrize(("rules", "kind", "host", "port", "is_allowed"), ADDRESS_ROWS)
async def test_an_address_is_dialled_only_by_a_rule(
    rules: list[str], kind: str, host: str, port: int, is_allowed: bool, dialled: Dialled
) -> None:
    fault = await answered(rules, net(kind, host, port))
    assert (fault is not ProxyFault.POLICY) is is_allowed
    assert [(ip.removeprefix("::ffff:"), at) for ip, at in dialled] == (
        [(host.removeprefix("::ffff:"), port)] if is_allowed else []
    )


NOT_PUBLIC = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fdff::1"],
    "shared": ["100.64.0.1", "100.127.255.255"],
    "link-local": ["169.254.169.254", "fe80::1", "fe80::1%lo", "febf::1"],
    "site-local": ["fec0::1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.255", "192.0.0.1", "198.18.0.1", "100::1"],
    "mapped": ["::ffff:127.0.0.1", "::ffff:a00:1", "::ffff:169.254.169.254", "::ffff:224.0.0.1"],
    "compatible": ["::127.0.0.1", "::10.0.0.1"],
    "translated": ["::ffff:0:127.0.0.1", "::ffff:0:a00:1"],
    "NAT64": ["64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::a00:1"],
    "6to4": ["2002:7f00:1::", "2002:a00:1::1"],
    "Teredo": ["2001:0:a00:1::1"],
}


@pytest.mark.parametrize("block", NOT_PUBLIC)
async def test_no_broad_rule_leads_into_the_exits_own_network(block: str, dialled: Dialled) -> None:
    for host in NOT_PUBLIC[block]:
        for kind in ("tcp", "udp"):
            assert await answered(EVERYTHING, net(kind, host, 80)) is ProxyFault.POLICY
            named = await answered(EVERYTHING, net(kind, "www.example", 80), Names([host]))
            assert named is ProxyFault.POLICY
    assert dialled == []


# --- names ---

NAME_ROWS = [
    (["tcp *:443"], [[PUBLIC]], [PUBLIC]),
    (["tcp *.example:443"], [[PUBLIC]], [PUBLIC]),
    (["tcp www.example:443"], [[PUBLIC]], [PUBLIC]),
    (["tcp www.test:443"], [[PUBLIC]], []),
    (["tcp *.www.example:443"], [[PUBLIC]], []),
    (["tcp *:443"], [["10.0.0.1"]], []),
    (["tcp *:443"], [[PUBLIC, "10.0.0.1"]], [PUBLIC]),
    (["tcp *:443"], [["10.0.0.1", PUBLIC, "::1", OTHER]], [PUBLIC, OTHER]),
    (["tcp *:443", "tcp 10.0.0.0/8:443"], [["10.0.0.1", PUBLIC]], ["10.0.0.1", PUBLIC]),
    ([f"tcp {OTHER}:443"], [[PUBLIC, OTHER]], [OTHER]),
    (["tcp *:443"], [["nonsense", PUBLIC]], [PUBLIC]),
    (["tcp *:443"], [[PUBLIC], ["127.0.0.1"]], [PUBLIC]),  # rebinding: the next one would be ours
]


@pytest.mark.parametrize(("rules", "answers", "expected"), NAME_ROWS)
async def test_a_name_is_dialled_by_those_of_its_addresses_that_pass(
    rules: list[str], answers: list[list[str]], expected: list[str], dialled: Dialled
) -> None:
    names = Names(*answers)
    fault = await answered(rules, net("tcp", "www.example", 443), names)
    assert dialled == [(ip, 443) for ip in expected]
    assert fault is (ProxyFault.REFUSED if expected else ProxyFault.POLICY)
    assert names.asked == 1


async def test_a_name_that_rebinds_is_judged_anew_each_time(dialled: Dialled) -> None:
    names = Names([PUBLIC], ["127.0.0.1"])
    rules, wanted = ["tcp *:443", "udp *:443"], net("tcp", "www.example", 443)
    assert await answered(rules, wanted, names) is ProxyFault.REFUSED
    assert await answered(rules, wanted, names) is ProxyFault.POLICY
    assert await answered(rules, net("udp", "www.example", 443), names) is ProxyFault.POLICY
    assert dialled == [(PUBLIC, 443)]


async def test_nothing_is_told_of_names_that_no_rule_speaks_of(dialled: Dialled) -> None:
    wanted = net("tcp", "db.internal", 443)
    assert await answered(["tcp *:443"], wanted, Names([])) is ProxyFault.DNS
    assert await answered([f"tcp {PUBLIC}:443"], wanted, Names([])) is ProxyFault.POLICY
    unasked = Names([PUBLIC])
    assert await answered(["tcp *:80", "udp *:443"], wanted, unasked) is ProxyFault.POLICY
    assert await answered([f"tcp *:443 from {CAROL}"], wanted, unasked) is ProxyFault.POLICY
    assert (unasked.asked, dialled) == (0, [])


# --- members ---

MEMBER_ROWS = [
    ("tcp *:443", net("tcp", PUBLIC, 443)),
    ("udp *:53", net("udp", PUBLIC, 53)),
    ("tcp *.example:443", net("tcp", "www.example", 443)),
    ("bind tcp 127.0.0.1:*", listen(0)),
    ("serial meter", line("meter")),
]


@pytest.mark.parametrize(("rule", "wanted"), MEMBER_ROWS)
async def test_a_rule_for_one_member_is_for_no_other(
    rule: str, wanted: dict[str, object], dialled: Dialled, tmp_path: Path
) -> None:
    rules, names = [f"{rule} from {CAROL}"], Names([PUBLIC])
    with gadget(tmp_path / "meter"):
        assert await answered(rules, wanted, names, ALICE, tmp_path) is ProxyFault.POLICY
        assert dialled == []
        assert await answered(rules, wanted, names, CAROL, tmp_path) is not ProxyFault.POLICY


# --- listeners and lines ---

LISTEN_ROWS = [
    ([], 0, False),
    (["tcp 127.0.0.1:*"], 0, False),
    (["bind udp 127.0.0.1:*"], 0, False),
    (["bind tcp 127.0.0.1:*"], 0, True),
    (["bind tcp 127.0.0.1:61000-61001"], 61002, False),
    (["bind tcp 127.0.0.1:61000-61001"], 60999, False),
]


@pytest.mark.parametrize(("rules", "port", "is_allowed"), LISTEN_ROWS)
async def test_a_port_is_listened_on_only_by_a_rule(
    rules: list[str], port: int, is_allowed: bool
) -> None:
    assert await answered(rules, listen(port)) is (None if is_allowed else ProxyFault.POLICY)


LINE_ROWS = [
    ([], "meter", ProxyFault.POLICY),
    (["tcp *:*"], "meter", ProxyFault.POLICY),
    (["serial modem"], "meter", ProxyFault.POLICY),
    (["serial meter"], "meter", None),
    (["serial *"], "meter", None),
    (["serial *"], "modem", ProxyFault.GONE),  # not plugged in
    (["serial meter"], "modem", ProxyFault.POLICY),  # nor is it told whether it is
    (["serial *"], "../meter", ProxyFault.INVALID),
    (["serial *"], "/dev/ttyS0", ProxyFault.INVALID),
    (["serial *"], ".meter", ProxyFault.INVALID),
    (["serial *"], "*", ProxyFault.INVALID),
]


@pytest.mark.parametrize(("rules", "name", "fault"), LINE_ROWS)
async def test_a_line_is_opened_only_by_a_rule_and_by_its_name(
    rules: list[str], name: str, fault: ProxyFault | None, tmp_path: Path
) -> None:
    with gadget(tmp_path / "meter"):
        assert await answered(rules, line(name), folder=tmp_path) is fault
