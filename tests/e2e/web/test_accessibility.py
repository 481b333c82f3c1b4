"""F15: every page can be used by everybody: axe finds nothing grave, light, dark or on a phone."""

import time

import pytest

from rookery.fleet.rendezvous.placement import ServerLoad
from rookery.wire.fleet import telemetry
from tests.e2e.web.axe import axe_source, grave_violations
from tests.e2e.web.conftest import OpenPage, ServedWorld
from tests.web.devices.test_page import REPORT
from tests.web.world import HASHNAME

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

MAC = "02:fc:00:00:00:01"
STRANGERS = ("/", "/auth", "/registration")
TABS = ("", "/links", "/routes", "/queue", "/telemetry", "/events", "/access", "/console")
PERSONAL = (
    "/",
    "/account",
    "/account/factors",
    "/account/proof",
    *(f"/devices/{MAC}{tab}" for tab in TABS),
)
FLEET = (
    *("/fleet", "/fleet/devices", "/fleet/map", "/fleet/matrix", "/fleet/servers"),
    *("/fleet/incidents", "/fleet/insights", "/fleet/topics", "/fleet/audit", "/fleet/system"),
    *("/fleet/accounts", "/fleet/accounts/root"),
)
CONTRAST = ("color-contrast",)


@pytest.fixture(scope="module")
def axe() -> str:
    return axe_source()


@pytest.fixture(scope="module")
def inhabited(served: ServedWorld) -> ServedWorld:
    """With devices in every state, and a server."""
    served.account("root", "admin")

    async def inhabit() -> None:
        world = served.world
        account = await world.site.accounts.find("root")
        assert account is not None
        world.hub.loads = [
            ServerLoad(HASHNAME, "192.0.2.9:1", "", b"", b"", 8, 3, 1, 0.4, 0.5, time.time())
        ]
        for number, ago_s in ((1, 1.0), (2, 3600.0), (3, None)):
            mac = bytes([2, 0xFC, 0, 0, 0, number])
            if ago_s is not None:
                await world.hub.report(mac, ago_s=ago_s, content=telemetry.encode(REPORT))
            await world.site.devices.claim(
                mac, account.id, f"place {number}", now=time.time() - 7200.0
            )

    served.call(inhabit())
    return served


@pytest.mark.parametrize(
    ("login", "paths"),
    [("", STRANGERS), ("root", PERSONAL), ("root", FLEET)],
    ids=["strangers", "personal", "fleet"],
)
def test_nothing_grave_on_any_page(
    login: str, paths: tuple[str, ...], inhabited: ServedWorld, open_page: OpenPage, axe: str
) -> None:
    assert inhabited.url
    page = open_page(login, has_policy=False)
    found = {}
    for path in paths:
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, path
        found[f"{path} light"] = grave_violations(page, axe)
        page.emulate_media(color_scheme="dark")
        found[f"{path} dark"] = grave_violations(page, axe, CONTRAST)
    assert {where: what for where, what in found.items() if what} == {}


def test_no_page_is_wider_than_a_phone(inhabited: ServedWorld, open_page: OpenPage) -> None:
    assert inhabited.url
    page = open_page("root", width=360, height=740)
    wide = {}
    for path in (*PERSONAL, *FLEET):
        page.goto(path)
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            wide[path] = over
    assert wide == {}


def test_what_axe_refuses_would_be_found(open_page: OpenPage, axe: str) -> None:
    page = open_page(has_policy=False)
    page.goto("/auth")
    field = page.locator("input[name=login]")
    page.evaluate("field => field.closest('label').replaceWith(field)", field.element_handle())
    assert any("label" in one for one in grave_violations(page, axe))
