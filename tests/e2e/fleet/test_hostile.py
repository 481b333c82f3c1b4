"""A fleet under attack (F4, F7–F11, F14): what is wrong is refused, bounded and seen.

Real processes and raw sockets. Every attack runs under a `Watch`: the attacked process must not
grow, must answer others meanwhile, and must acknowledge the agent's reports afterwards.
"""

import asyncio
import contextlib
import json
import os
import random
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psutil
import pytest

from rookery.fleet.enrolment import secrets
from rookery.identity.hashname import intermediate
from rookery.identity.identity import Identity
from rookery.store.spool.reader import SpoolReader
from rookery.wire import observation
from rookery.wire.fleet import datagrams as wire
from rookery.wire.fleet import messages, tlv
from rookery.wire.fleet.datagrams import FaultDatagram, HelloDatagram
from rookery.wire.fleet.messages import FaultCode
from rookery.wire.fleet.tags import ACK, ERROR, HELLO, KEY, LOAD, SEALED, SECRET, TELEMETRY
from rookery.wire.link.uri import LinkAddress
from rookery.wire.observation import Observation
from tests.e2e.fleet.drip import Drip
from tests.e2e.fleet.guest import Address, Guest, connected, is_ended
from tests.e2e.fleet.relays import Place
from tests.e2e.fleet.siege import MAC, Service, Siege, Watch, answers, besieged, datagrams, speaker
from tests.e2e.fleet.world import PASSWORD, Person, eventually, frozen
from tests.hub.device import FakeDevice
from tests.hub.identities import identity
from tests.patience import PATIENCE_S
from tests.server.browser import Browser

pytestmark = pytest.mark.xdist_group("fleet")

EVIL = "127.0.0.66"
FIRST_CONTACTS = 100_000
FORGERIES = 2_000
RUBBISH = 5_000
EACH = 3
LORIS = 300  # connections to each listener
SLOW_S = 20  # that one of them lasts; 10 on a machine with nothing else to do
GUESSES = 12
STREAMS = 1_000
PASSWORDS_GROWTH_MAX = 200 << 20  # two at a time are checked, each in 64 MiB
LIES = 2_000
AGENT_GROWTH_MAX = 16 << 20
REFUSALS = ("denied", "no_seat", "protocol")
CONTENT = b"\x82\xa4kind\xa6device\xa1t\x01"


@pytest.fixture(scope="module")
def siege(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    with besieged(tmp_path_factory.mktemp("siege")) as siege:
        yield siege


# Datagrams


def test_a_hundred_thousand_first_contacts_leave_nothing_behind(siege: Siege) -> None:
    """F4: answers are few, none is larger than what asked for it, and nothing is kept."""
    judged = [datagrams(fate) for fate in ("limited", "hellos", "busy")]
    judged.append("rookery_socket_dropped_datagrams_total")
    before = sum(siege.hub.figure(name) for name in judged)
    entries = _routers(siege)
    template = bytearray(_hello(b"\x02\x66\0\0\0\0", identity("mallory")))
    sock, began, heard = speaker(siege.udp, EVIL), time.monotonic(), []
    with Watch(siege, siege.hub), sock:
        for number in range(FIRST_CONTACTS):
            struct.pack_into(">I", template, tlv.HEAD_SIZE + 2, number)
            struct.pack_into(">Q", template, tlv.HEAD_SIZE + 6, number)
            sock.send(template)
            if number % 100 == 0:
                heard += answers(sock)
        eventually(
            lambda: sum(siege.hub.figure(name) for name in judged) - before >= FIRST_CONTACTS
        )
        heard += answers(sock)
    assert 0 < len(heard) <= 50 + 5 * (time.monotonic() - began) + 1
    assert max(map(len, heard)) <= wire.HELLO_DATAGRAM_SIZE_MIN
    assert {each.tag for answer in heard for each in tlv.parse_all(answer)} == {SECRET}
    assert _routers(siege) == entries


def test_a_report_without_the_secret_is_forged(siege: Siege) -> None:
    """F4: of any generation, boot and sequence; told to who watches, not to who sends."""
    before = siege.hub.figure(datagrams("forged"))
    now, state = int(time.time()), siege.state
    heard = []
    with Watch(siege, siege.hub), speaker(siege.udp, EVIL) as sock:
        for number in range(FORGERIES):
            lineage = random.choice([state.boot, state.boot + number, wire.BOOT_SEQUENCE_MAX])
            generation = random.choice([state.generation, 0, now, 0xFFFF_FFFF])
            sock.send(_report(siege.mac, os.urandom(32), generation, lineage, 1 + number))
            heard += answers(sock)
        eventually(lambda: siege.hub.figure(datagrams("forged")) - before >= FORGERIES)
        heard += answers(sock)
    faults = {
        FaultDatagram.parse(each.value).code for text in heard for each in tlv.parse_all(text)
    }
    assert faults == {wire.UNKNOWN}
    assert max(map(len, heard)) < len(_report(siege.mac, b"", 0, 0, 1))
    eventually(lambda: siege.is_noted("security.forged", address=EVIL, who=siege.mac.hex(":")))
    eventually(lambda: "forged" in _observed(siege))


def test_a_recorded_report_counts_once(siege: Siege) -> None:
    """F4: played again from where it came it is acknowledged, from elsewhere it is noticed."""
    repeats, replays = (siege.hub.figure(datagrams(fate)) for fate in ("repeats", "replays"))
    eventually(lambda: bool(_reports(siege)))
    report = _reports(siege)[-1]
    kept = _spooled(siege, report)
    with Watch(siege, siege.hub), speaker(siege.udp, EVIL) as sock:
        for _ in range(100):
            siege.wire.repeat(report)
            sock.send(report)
        eventually(lambda: siege.hub.figure(datagrams("repeats")) >= repeats + 200)
    assert siege.hub.figure(datagrams("replays")) >= replays + 100
    assert _spooled(siege, report) == kept == 1
    eventually(lambda: siege.is_noted("security.replay", address=EVIL, who=siege.mac.hex(":")))


def test_another_key_with_the_same_mac_is_refused(siege: Siege) -> None:
    """F4: to say hello, and to report beside a hello."""
    foreign, forged = (siege.hub.figure(datagrams(fate)) for fate in ("foreign_key", "forged"))
    hello, stolen = _hello(siege.mac, identity("mallory")), siege.stolen
    with Watch(siege, siege.hub), speaker(siege.udp, "127.0.0.67") as sock:
        sock.send(hello)
        introduction = _report(siege.mac, os.urandom(32), stolen.generation, stolen.boot + 9, 1)
        sock.send(tlv.serialize(HELLO, hello[4:138]) + introduction)
        eventually(lambda: siege.hub.figure(datagrams("foreign_key")) > foreign)
        eventually(lambda: siege.hub.figure(datagrams("forged")) > forged)
        found = [each for text in answers(sock) for each in tlv.parse_all(text)]
    assert {each.tag for each in found} == {ERROR}
    assert wire.DENIED in {FaultDatagram.parse(each.value).code for each in found}
    eventually(lambda: siege.is_noted("security.foreign_key", who=siege.mac.hex(":")))


def test_lengths_that_lie_and_random_bytes_are_dropped(siege: Siege) -> None:
    """F4: without an answer, which would be somebody's noise."""
    before = siege.hub.figure(datagrams("malformed"))
    chance = random.Random(7)
    with Watch(siege, siege.hub), speaker(siege.udp, EVIL) as sock:
        for number in range(RUBBISH):
            sock.send(_nonsense(siege, chance, number))
        eventually(lambda: siege.hub.figure(datagrams("malformed")) - before >= RUBBISH)
        assert not answers(sock)


def test_a_stolen_secret_is_worth_nothing_once_it_is_renewed(siege: Siege) -> None:
    """F4: whoever read the agent's disk then cannot speak for it now."""
    stolen = siege.stolen
    eventually(lambda: siege.state.generation > stolen.generation)
    before = siege.hub.figure(datagrams("old_secret"))
    acknowledged = siege.wire.acknowledgements
    eventually(lambda: siege.wire.acknowledgements > acknowledged + 1)  # with the newer one
    with Watch(siege, siege.hub), speaker(siege.udp, EVIL) as sock:
        sock.send(_report(siege.mac, stolen.secret, stolen.generation, stolen.boot + 99, 1))
        eventually(lambda: siege.hub.figure(datagrams("old_secret")) == before + 1)
        found = [each for text in answers(sock) for each in tlv.parse_all(text)]
    assert [(each.tag, FaultDatagram.parse(each.value).code) for each in found] == [
        (ERROR, wire.UNKNOWN)
    ]
    eventually(lambda: siege.is_noted("security.old_secret", address=EVIL))


# Connections


@pytest.mark.parametrize("name", ["hub", "server"])
def test_what_is_no_sealed_stream_is_closed_at_once(siege: Siege, name: str) -> None:
    """F8: lengths that lie, endless keys, handshakes that are for others or were said before."""
    service = _service(siege, name)
    address, before = service.tcp, service.figure(_fate(name, "rubbish"))
    stranger = identity("stranger")
    astray = Address(address.place, stranger.hashname, stranger.keys[0x2A])
    with Guest(address, identity("mallory"), EVIL) as honest:
        assert isinstance(honest.asked(messages.AskMessage(1)), messages.FaultMessage)
        recorded = honest.sent
    with Guest(astray, identity("mallory"), EVIL) as misled:
        lost = misled.sent
    attacks = [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">HH", KEY, 0xFFFF) + bytes(70_000),
        struct.pack(">HH", KEY, 2049),
        (struct.pack(">HH", KEY, 2048) + bytes(2048)) * 1000,
        struct.pack(">HH", SEALED, 28) + bytes(28),
        os.urandom(4096),
        lost,
        recorded,
    ]
    with Watch(siege, service):
        for attack in attacks:
            with connected(address.place, EVIL) as sock:
                with contextlib.suppress(ConnectionError):
                    sock.sendall(attack)
                assert is_ended(sock), attack[:16]
        eventually(lambda: service.figure(_fate(name, "rubbish")) >= before + len(attacks))


def test_a_stranger_gets_nothing_from_the_hub(siege: Siege) -> None:
    """F7, F8: not a wish that is not there, nor one that is another's, nor anything else."""

    def asked(message: messages.Message) -> int:
        with Guest(siege.hub.tcp, identity("mallory"), EVIL) as guest:
            answer = guest.asked(message)
        assert isinstance(answer, messages.FaultMessage)
        return answer.code

    denied = 'rookery_wish_steps_total{step="fault_2"}'
    before = siege.hub.figure(denied)
    with Watch(siege, siege.hub):
        assert asked(messages.AskMessage(random.getrandbits(64))) == FaultCode.NO_WISH
        assert asked(messages.ArriveMessage("seat", "ticket")) == FaultCode.PROTOCOL
        assert asked(_reservation()) == FaultCode.PROTOCOL
        with frozen(siege.agent), _wish(siege.alice) as wish:
            assert asked(messages.AskMessage(wish)) == FaultCode.DENIED
    assert siege.hub.figure(denied) == before + 1
    mallory = identity("mallory").hashname
    eventually(lambda: siege.is_noted("security.foreign_key", address=EVIL, detail=mallory))


def test_a_stranger_gets_nothing_from_the_server(siege: Siege) -> None:
    """F9: only the hub has seats kept and released, and only a ticket leads to one."""
    refused = {reason: siege.server.figure(_fate("server", reason)) for reason in REFUSALS}

    def asked(message: messages.Message) -> int:
        with Guest(siege.server.tcp, identity("mallory"), EVIL) as guest:
            answer = guest.asked(message)
        assert isinstance(answer, messages.FaultMessage)
        return answer.code

    with Watch(siege, siege.server):
        assert asked(_reservation()) == FaultCode.DENIED
        assert asked(messages.ReleaseMessage("seat")) == FaultCode.DENIED
        assert asked(messages.ArriveMessage("seat", "ticket")) == FaultCode.NO_SEAT
        assert asked(messages.AttendMessage("seat", "ticket")) == FaultCode.NO_SEAT
        assert asked(messages.ReservedMessage("seat")) == FaultCode.PROTOCOL
    grown = {
        reason: siege.server.figure(_fate("server", reason)) - count
        for reason, count in refused.items()
    }
    assert grown == {"denied": 2, "no_seat": 2, "protocol": 1}


async def test_a_ticket_is_good_once_for_one_device_and_one_client(siege: Siege) -> None:
    """F9, F10: mallory has a router and tickets of her own, and gets nowhere else with them."""
    link = LinkAddress.parse(siege.world.hubs[0].link.read_text())
    code = await asyncio.to_thread(siege.mallory.code)
    mac = b"\x02\x66\0\0\0\x01"
    router = FakeDevice(link, identity("mallory's router"), mac, code)
    turned_away = siege.server.figure(_fate("server", "no_seat"))
    with Watch(siege, siege.server):
        async with router, asyncio.TaskGroup() as tasks:
            await router.report()
            wish = asyncio.to_thread(lambda: list(siege.mallory.steps(mac.hex(":"))))
            wishing = tasks.create_task(wish)
            direct = await _directed(router)
            hers = await asyncio.to_thread(_granted, siege.alice)
            wrong = [
                (identity("mallory"), messages.ArriveMessage(direct.seat, direct.ticket)),
                (router.identity, messages.ArriveMessage(direct.seat, hers["ticket"])),
                (router.identity, messages.ArriveMessage(hers["seat"], direct.ticket)),
            ]
            for who, message in wrong:
                assert await asyncio.to_thread(_fault, siege, who, message) == FaultCode.NO_SEAT
            with Guest(siege.server.tcp, router.identity, EVIL) as seated:
                arrive = messages.ArriveMessage(direct.seat, direct.ticket)
                assert isinstance(seated.asked(arrive), messages.WelcomeMessage)
                again = await asyncio.to_thread(_fault, siege, router.identity, arrive)
                assert again == FaultCode.NO_SEAT
                mine = (await wishing)[-1]["grant"]
                assert isinstance(mine, dict)
                attend = messages.AttendMessage(hers["seat"], mine["ticket"])
                code_told = await asyncio.to_thread(_fault, siege, identity("mallory"), attend)
                assert code_told == FaultCode.NO_SEAT
                assert await _web_closed(siege, hers["seat"], mine["ticket"]) == 4004
                attend = messages.AttendMessage(hers["seat"], hers["ticket"])
                with Guest(siege.server.tcp, identity("alice"), "127.0.0.1") as alice:
                    assert isinstance(alice.asked(attend), messages.WelcomeMessage)
                    assert await _web_closed(siege, hers["seat"], hers["ticket"]) == 4004
    assert siege.server.figure(_fate("server", "no_seat")) == turned_away + 7


def test_those_who_say_a_byte_now_and_then_are_shown_out(siege: Siege) -> None:
    """F7, F14: at all four listeners at once; others do as they please meanwhile."""
    doors = {_fate(name, "slow"): _service(siege, name) for name in ("hub", "server")}
    doors[_refused("slow")] = siege.hub
    slow = {figure: service.figure(figure) for figure, service in doors.items()}
    key, begun = struct.pack(">HH", KEY, 2048), _unfinished(siege)
    with (
        Watch(siege, siege.hub),
        Watch(siege, siege.server),
        Drip("127.0.0.77") as drip,
        Drip("127.0.0.78") as bodies,
    ):
        for name, first in begun.items():
            drop = b"1\r\n \r\n" if name == "chunked" else b" "
            for _ in range(EACH):
                bodies.add(name, siege.hub.http_place, drop, first, reads=name != "unread")
        for service in (siege.hub, siege.server):
            for _ in range(LORIS):
                drip.add("sealed", service.tcp.place, b"x", key)
                drip.add("headers", service.http_place, b"x", b"GET /")
        assert siege.alice.rpc(MAC, "system.uptime").code == 0
        eventually(lambda: not drip.held and not bodies.held)
    assert drip.longest_s < SLOW_S
    assert bodies.longest_s < SLOW_S
    for figure, count in slow.items():
        assert doors[figure].figure(figure) >= count + EACH * len(begun)
    for name, service in (("hub", siege.hub), ("server", siege.server)):
        assert sum(service.figure(_fate(name, why)) for why in ("address_full", "too_often")) > 0
    assert siege.hub.figure(_refused("address_full")) > 0


def _unfinished(siege: Siege) -> dict[str, bytes]:
    """Requests whose body never ends, answered before it or not; and one that takes no answer."""
    cookie = "; ".join(f"{name}={value}" for name, value in siege.alice.http.cookies.items())
    length, session = "Content-Length: 9999", "POST /api/v1/session"
    form, data = "Content-Type: application/x-www-form-urlencoded", "Content-Type: application/json"
    return {
        "waited for": _head(session, data, length),
        "chunked": _head(session, data, "Transfer-Encoding: chunked"),
        "signed in": _head("POST /", form, length, f"Cookie: {cookie}"),
        "answered": _head("GET /healthz", length),
        "refused": _head("POST /", form, length),
        "unread": _head("GET /api/v1/openapi.json") * 1500,
    }


def _service(siege: Siege, name: str) -> Service:
    return siege.hub if name == "hub" else siege.server


def _fate(name: str, fate: str) -> str:
    """The figure that says what became of connections."""
    if name == "hub":
        return f'rookery_door_connections_total{{fate="{fate}"}}'
    return f'rookery_server_refused_connections_total{{reason="{fate}"}}'


@contextmanager
def _wish(person: Person) -> Iterator[int]:
    """One that is open as long as this."""
    path, accept = f"/api/v1/devices/{MAC}/connect", {"Accept": "text/event-stream"}
    with person.http.stream("POST", path, headers=accept) as answer:
        assert answer.status_code == 200, answer.read()
        lines = answer.iter_lines()  # the stream ends with it
        data = next(line for line in lines if line.startswith("data:"))
        yield json.loads(data[5:])["wish"]


def _reservation() -> messages.ReserveMessage:
    who = identity("mallory").hashname
    return messages.ReserveMessage("seat", bytes(6), who, "mallory", bytes(32), bytes(32), 60)


async def _directed(router: FakeDevice) -> messages.DirectMessage:
    """Where the hub sends a router that reports until it is called."""
    while router.calls.empty():
        await router.report()
    answer = await router.ask(await router.called())
    assert isinstance(answer, messages.DirectMessage)
    return answer


def _granted(person: Person) -> dict[str, str]:
    grant = list(person.steps(MAC))[-1]["grant"]
    assert isinstance(grant, dict)
    return grant


def _fault(siege: Siege, who: Identity, message: messages.Message) -> int:
    with Guest(siege.server.tcp, who, EVIL) as guest:
        answer = guest.asked(message)
    assert isinstance(answer, messages.FaultMessage), answer
    return answer.code


async def _web_closed(siege: Siege, seat: str, ticket: str) -> int | None:
    """How a WebSocket with that ticket ends."""
    browser = await Browser.open(siege.server.http_place)
    assert await browser.accepted() == 101
    browser.send({"seat": seat, "ticket": ticket})
    code = await browser.closed()
    browser.close()
    return code


# HTTP


def test_a_guesser_of_passwords_waits_and_the_owner_does_not(siege: Siege) -> None:
    """F14: 429 after a few, whoever is guessed at; the owner signs in from elsewhere."""
    limited = siege.hub.figure(_refused(429))
    with Watch(siege, siege.hub, PASSWORDS_GROWTH_MAX), _browser(siege, "127.0.0.80") as guesser:
        for path, login in (("/api/v1/session", "alice"), ("/auth", "nobody")):
            statuses = []
            for number in range(GUESSES):
                answer = _guess(guesser, path, login, f"wrong {number:05}")
                statuses.append(answer.status_code)
            assert set(statuses[:8]) == {401}
            assert set(statuses[8:]) == {429}
            assert 0 < int(answer.headers["Retry-After"]) <= 301
        right = guesser.post("/api/v1/session", json={"login": "alice", "password": PASSWORD})
        assert right.status_code == 429
        with _browser(siege, "127.0.0.81") as alice:
            mine = alice.post("/api/v1/session", json={"login": "alice", "password": PASSWORD})
            assert mine.status_code == 201
    assert siege.hub.figure(_refused(429)) >= limited + 2 * (GUESSES - 8)
    assert siege.is_noted("session.sign_in", who="alice", detail="wrong", address="127.0.0.80")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://{host}"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://{host}.evil.example"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
def test_another_site_cannot_use_a_session(siege: Siege, headers: dict[str, str]) -> None:
    """F14: CSRF, on routes of the API, of the pages and of the seed."""
    host = siege.hub.http.removeprefix("http://")
    told = {name: value.replace("{host}", host) for name, value in headers.items()}
    refused = siege.hub.figure(_refused(403))
    unsafe = [
        ("POST", "/api/v1/codes"), ("DELETE", f"/api/v1/devices/{MAC}"),
        ("POST", f"/api/v1/devices/{MAC}/connect"), ("POST", f"/?mac={MAC}"),
        ("POST", f"/devices/{MAC}/release"), ("POST", "/signout"), ("POST", "/add"),
        ("POST", f"/auth?login=mallory&password={PASSWORD}"), ("DELETE", "/api/v1/session"),
    ]  # fmt: skip
    for method, path in unsafe:
        answer = siege.alice.http.request(method, path, headers=told)
        assert (answer.status_code, answer.json()["code"]) == (403, "cross_origin"), path
    assert siege.hub.figure(_refused(403)) == refused + len(unsafe)
    assert siege.alice.device(MAC)["mac"] == MAC  # still signed in, still hers


def test_every_route_that_takes_a_mac_is_for_its_owner(siege: Siege) -> None:
    """F6, F14, F15: the list is complete, as far as the hub describes itself."""
    code = {"mac": MAC, "code": secrets.claim_code(siege.state.secret)}
    routes: list[tuple[str, str, dict[str, str] | None]] = [
        ("GET", "/api/v1/devices/{mac}", None),
        ("PATCH", "/api/v1/devices/{mac}", {"name": "mine"}),
        ("DELETE", "/api/v1/devices/{mac}", None),
        ("DELETE", "/api/v1/devices/{mac}/enrolment", None),
        ("POST", "/api/v1/devices/{mac}/connect", None),
        ("GET", "/api/v1/devices/{mac}/report", None),
        ("GET", "/api/v1/devices/{mac}/telemetry", None),
        ("GET", "/api/v1/devices/{mac}/events", None),
        ("GET", "/api/v1/devices/{mac}/route", None),
        ("GET", "/api/v1/devices/{mac}/queue", None),
        ("DELETE", "/api/v1/devices/{mac}/queue/{request_id}", None),
        ("POST", "/api/v1/devices/claim", {"mac": MAC, "code": "AAAAAAAAAA"}),
        ("POST", "/api/v1/devices/claim", code),  # right, and it has an owner
        ("POST", "/?mac={mac}", None),
        ("GET", "/devices/{mac}", None),
        ("GET", "/devices/{mac}/console", None),
        ("GET", "/devices/{mac}/telemetry", None),
        ("GET", "/devices/{mac}/access", None),
        ("POST", "/devices/{mac}/name", {"name": "mine"}),
        ("POST", "/devices/{mac}/release", None),
        ("POST", "/devices/{mac}/forget", None),
        ("POST", "/claim", {"mac": MAC, "code": "AAAAAAAAAA"}),
    ]
    described = siege.mallory.http.get("/api/v1/openapi.json").json()["paths"]
    known = {(method, path) for method, path, _ in routes}
    for path, methods in described.items():
        if "{mac}" in path:
            assert {(method.upper(), path) for method in methods if method != "parameters"} <= known
    before, refused = siege.alice.device(MAC), siege.hub.figure(_refused(403))
    for method, path, body in routes:
        form = None if path.startswith("/api") else body
        answer = siege.mallory.http.request(
            method,
            path.replace("{mac}", MAC).replace("{request_id}", "1"),
            json=None if form else body,
            data=form,
        )
        assert answer.status_code in (403, 409), (method, path, answer.text)
    assert siege.hub.figure(_refused(403)) >= refused + len(routes) - 1
    after = siege.alice.device(MAC)
    assert (after["name"], after["claimed_at"]) == (before["name"], before["claimed_at"])
    assert siege.is_noted("device.connect", who="mallory", target=MAC, detail="foreign")
    assert siege.is_noted("device.claim", who="mallory", target=MAC, detail="wrong code")


def test_tokens_sessions_and_codes_are_their_owners(siege: Siege) -> None:
    """F14: guessing an id is of no use, neither is a role one does not have."""
    alice, mallory = siege.alice.http, siege.mallory.http
    token = alice.post("/api/v1/tokens", json={"name": "cli", "scopes": ["read"]}).json()
    session = alice.get("/api/v1/sessions").json()[0]["id"]
    code = alice.post("/api/v1/codes", json={}).json()["id"]
    for path in (f"tokens/{token['id']}", f"sessions/{session}", f"codes/{code}"):
        assert mallory.delete(f"/api/v1/{path}").status_code == 404
    for path in ("accounts", "audit", "routers", "servers"):
        assert mallory.get(f"/api/v1/{path}").status_code == 403
    for kind, shown in (("tokens", token["id"]), ("sessions", session), ("codes", code)):
        assert str(shown) in alice.get(f"/api/v1/{kind}").text
        assert str(shown) not in [str(one["id"]) for one in mallory.get(f"/api/v1/{kind}").json()]
    bearer = {"Authorization": f"Bearer {token['token']}"}
    with _browser(siege, EVIL) as thief:
        assert thief.get("/api/v1/devices", headers=bearer).status_code == 200
        for method, path in (
            ("POST", f"devices/{MAC}/connect"), ("DELETE", f"devices/{MAC}"), ("POST", "tokens"),
            ("GET", "sessions"), ("POST", "codes"), ("PUT", "me/password"),
        ):  # fmt: skip
            answer = thief.request(method, f"/api/v1/{path}", headers=bearer, json={})
            assert answer.status_code == 403, path
    assert alice.delete(f"/api/v1/tokens/{token['id']}").status_code == 204


def test_huge_bodies_and_endless_headers_are_cut_off(siege: Siege) -> None:
    """F14: whatever is said of their length."""
    post = b"POST /api/v1/session HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n"
    chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
    attacks = [
        (post + b"Content-Length: 999999999999\r\n\r\n" + b" " * (1 << 20), b" 413"),
        (post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 256, b" 413"),
        (b"GET / HTTP/1.1\r\n" + b"X: " + b"x" * (1 << 24), b" 400"),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * (1 << 20), b" 400"),
        (b"GET /" + b"x" * (1 << 24), b" 400"),
        (os.urandom(1 << 20), b" 400"),
    ]
    with Watch(siege, siege.hub), Watch(siege, siege.server):
        for attack, status in attacks:
            for place in (siege.hub.http_place, siege.server.http_place):
                told = _told(place, attack)
                is_hub = place == siege.hub.http_place
                assert not told or not is_hub or status in told.split(b"\r\n")[0], told[:99]
                assert b" 200" not in told[:20]


async def test_one_account_has_a_few_streams_however_many_it_opens(siege: Siege) -> None:
    """F14: four are let in, a thousand more are not; all is over when the four leave."""
    cookie = "; ".join(f"{name}={value}" for name, value in siege.alice.http.cookies.items())
    accept = "Accept: text/event-stream"
    request = _head(
        f"POST /api/v1/devices/{MAC}/connect", accept, f"Cookie: {cookie}", "Content-Length: 0"
    )
    limited = siege.hub.figure(_refused(429))
    writers: list[asyncio.StreamWriter] = []

    async def opened(number: int) -> int:
        source = (f"127.0.1.{number % 10}", 0)
        reader, writer = await asyncio.open_connection(*siege.hub.http_place, local_addr=source)
        writers.append(writer)
        writer.write(request)
        async with asyncio.timeout(PATIENCE_S):
            return int((await reader.readline()).split()[1])

    with Watch(siege, siege.hub), frozen(siege.agent):
        assert [await opened(number) for number in range(4)] == [200] * 4
        statuses = await asyncio.gather(*(opened(number) for number in range(STREAMS)))
        assert set(statuses) == {429}
        for writer in writers:
            writer.close()
    assert siege.hub.figure(_refused(429)) == limited + STREAMS
    eventually(lambda: siege.hub.figure("rookery_meetings") == 0)


def _refused(why: int | str) -> str:
    return f'rookery_http_refusals_total{{reason="{why}"}}'


def _head(start: str, *headers: str) -> bytes:
    return "\r\n".join([f"{start} HTTP/1.1", "Host: hub", *headers, "", ""]).encode()


def _browser(siege: Siege, source: str) -> httpx.Client:
    transport = httpx.HTTPTransport(local_address=source)
    client = httpx.Client(base_url=siege.hub.http, transport=transport, timeout=PATIENCE_S)
    client.headers["Accept"] = "application/json"
    return client


def _guess(client: httpx.Client, path: str, login: str, password: str) -> httpx.Response:
    fields = {"login": login, "password": password}
    return client.post(path, json=fields) if "/api/" in path else client.post(path, data=fields)


def _told(place: Place, attack: bytes) -> bytes:
    """The first of what is answered, which a reset may have destroyed."""
    with connected(place, "127.0.0.90") as sock:
        sock.settimeout(PATIENCE_S)
        told = b""
        with contextlib.suppress(ConnectionError):
            sock.sendall(attack)
        with contextlib.suppress(ConnectionError):
            while b"\r\n" not in told and (data := sock.recv(1 << 16)):
                told += data
        return told


# The agent


def test_an_agent_believes_nobody_but_its_hub(siege: Siege) -> None:
    """F4, F8: rubbish, huge, recorded and unproved answers neither move, fill nor hurry it."""
    process = psutil.Process(siege.agent.pid)
    size, welcomed = process.memory_info().rss, siege.hub.figure(_fate("hub", "welcome"))
    recorded = list(siege.wire.told)
    assert SECRET in {each.tag for text in recorded for each in tlv.parse_all(text)}
    siege.wire.is_cut = True
    heard, boot, hellos = siege.wire.heard_count, siege.state.boot, len(_hellos(siege))
    eventually(lambda: siege.wire.heard_count > heard)
    lies = [*recorded, *_lies(wire.ReportDatagram.parse(_reports(siege)[-1]))]
    for _ in range(LIES // len(lies)):
        for lie in lies:
            siege.wire.answer(lie)
    eventually(lambda: len(_hellos(siege)) > hellos)
    hello = _hellos(siege)[-1]
    nonce = int.from_bytes(HelloDatagram.parse(hello[4:]).nonce, "big")
    for code in (wire.DENIED, wire.BUSY):
        for _ in range(LIES):
            siege.wire.answer(FaultDatagram(code, siege.mac, 0, nonce).serialize())
    began = siege.wire.heard_count
    eventually(lambda: siege.wire.heard_count > began)  # still there
    assert siege.wire.heard_count - heard < 100
    assert siege.agent.errors().count("the hub") < 10  # which its console would be full of
    assert process.memory_info().rss - size < AGENT_GROWTH_MAX
    assert siege.hub.figure(_fate("hub", "welcome")) == welcomed
    siege.wire.is_cut = False
    acknowledged = siege.wire.acknowledgements
    eventually(lambda: siege.wire.acknowledgements > acknowledged)
    assert siege.state.boot == boot
    siege.alice.await_device(MAC)


def test_an_agent_does_not_talk_to_a_server_that_is_another(siege: Siege) -> None:
    """F9: what answers where the hub sent it is not the one that the hub meant."""
    assert siege.alice.rpc(MAC, "system.uptime").code == 0
    process = psutil.Process(siege.agent.pid)
    size, failed = process.memory_info().rss, 'rookery_wish_steps_total{step="failed"}'
    before = siege.hub.figure(failed)
    lies = [
        max(siege.detour.answers, key=len),  # recorded
        struct.pack(">HH", KEY, 0xFFFF) + bytes(8 << 20),
        (struct.pack(">HH", KEY, 2048) + os.urandom(2048)) * 1000,
    ]
    with Watch(siege, siege.hub):
        for number, lie in enumerate(lies, 1):
            siege.detour.lie(lie)
            steps = list(siege.alice.steps(MAC))
            assert steps[-1]["name"] == "failed", steps
            assert siege.detour.lies >= number
            siege.detour.lie(None)
    assert process.memory_info().rss - size < AGENT_GROWTH_MAX
    assert siege.hub.figure(failed) == before + len(lies)
    assert siege.alice.rpc(MAC, "system.uptime").code == 0


def _lies(report: wire.ReportDatagram) -> list[bytes]:
    """Answers to a report by who has seen it, and has no secret."""
    lineage, proof = (report.sender, report.boot, report.sequence), os.urandom(16)
    far = wire.BOOT_SEQUENCE_MAX - 1
    return [
        os.urandom(1200),
        os.urandom(60_000),
        struct.pack(">HH", SECRET, 0xFFFF) + bytes(100),
        tlv.serialize(SECRET, report.sender + os.urandom(129)),
        tlv.serialize(ACK, struct.pack(">6sQQ16s", *lineage, proof)),
        wire.CallDatagram(*lineage, random.getrandbits(64), proof).serialize(),
        wire.CallDatagram(*lineage, random.getrandbits(64)).serialize(),
        FaultDatagram(wire.STALE, report.sender, far, report.sequence, proof).serialize(),
        FaultDatagram(wire.STALE, report.sender, far, report.sequence).serialize(),
        FaultDatagram(wire.UNKNOWN, *lineage).serialize(),
    ]


def _hello(sender: bytes, who: Identity) -> bytes:
    digest = intermediate(who.keys[0x2A])
    hello = HelloDatagram(sender, os.urandom(8), who.keys[0x40], digest)
    return hello.serialize(HELLO, wire.HELLO_DATAGRAM_SIZE_MIN)


def _report(sender: bytes, secret: bytes, generation: int, boot: int, sequence: int) -> bytes:
    proved = wire.report_proved(TELEMETRY, sender, generation, boot, sequence, CONTENT)
    return wire.serialize_report(proved, secrets.prove(secret, proved))


def _nonsense(siege: Siege, chance: random.Random, number: int) -> bytes:
    """Random, or almost right."""
    match number % 5:
        case 0:
            return chance.randbytes(chance.randrange(1, 1400))
        case 1:  # more than there is
            return struct.pack(">HH", TELEMETRY, 0xFFFF) + chance.randbytes(60)
        case 2:  # a router's report with a server's tag
            report = _report(siege.mac, bytes(32), 1, 1, 1)
            return struct.pack(">H", LOAD) + report[2:]
        case 3:  # cut
            return _hello(siege.mac, identity("mallory"))[: chance.randrange(4, 190)]
        case _:
            return tlv.serialize(chance.randrange(1 << 16), b"") * chance.randrange(2, 300)


def _routers(siege: Siege) -> int:
    """How many the hub knows of, whosever they are."""
    found = siege.warden.http.get("/api/v1/routers", params={"count": 500}).json()
    return len(found["routers"])


def _reports(siege: Siege) -> list[bytes]:
    """Datagrams of the agent that were reports and nothing else."""
    return [each for each in list(siege.wire.heard) if wire.ReportDatagram.read(each) is not None]


def _hellos(siege: Siege) -> list[bytes]:
    return [each for each in list(siege.wire.heard) if each[:2] == struct.pack(">H", HELLO)]


def _observations(siege: Siege) -> Iterator[Observation]:
    for record in SpoolReader(siege.world.hubs[0].folder / "spool"):
        yield Observation.parse(record.data)


def _spooled(siege: Siege, report: bytes) -> int:
    """How often the spool has it."""
    wanted = wire.ReportDatagram.parse(report)
    lineage = (wanted.sender, wanted.boot, wanted.sequence)
    return [(each.sender, each.boot, each.sequence) for each in _observations(siege)].count(lineage)


def _observed(siege: Siege) -> str:
    """What the lake will hear of attacks."""
    return str([each.content for each in _observations(siege) if each.kind == observation.SECURITY])
