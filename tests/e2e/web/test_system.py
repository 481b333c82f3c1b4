"""F14: the hub's own figures go on by themselves; the audit is found by keyboard alone."""

import time

import pytest
from playwright.sync_api import expect

from rookery.fleet.alerts.alert import AlertCondition, AlertRaised
from rookery.hub.registry.entry_writer import HubBacklog
from rookery.store.accounts.audit import AuditRow
from rookery.store.alerts.writer import AlertChannels, AlertWriter
from tests.e2e.web.axe import axe_source, grave_violations
from tests.e2e.web.conftest import OpenPage, ServedWorld

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]

PAGES = ("/fleet/system", "/fleet/audit", "/fleet/topics", "/fleet/incidents", "/fleet/incidents/1")


@pytest.fixture(scope="module")
def root(served: ServedWorld) -> str:
    served.account("root", "admin")
    return "root"


def test_figures_change_without_a_reload(
    served: ServedWorld, open_page: OpenPage, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page(root)
    page.goto("/fleet/system")
    size = page.locator('span[data-figure="spool.size_bytes"]')
    expect(size).to_have_text("0 B")
    waiting = HubBacklog(123_456_789, None, is_full=False, unsaved_entries=0)
    monkeypatch.setattr(served.world.hub, "waiting", waiting)
    expect(size).to_have_text("123 MB")


def test_the_audit_is_filtered_by_keyboard_alone(
    served: ServedWorld, open_page: OpenPage, root: str
) -> None:
    rows = [AuditRow(at=time.time(), who="alice", what=f"device.{n}") for n in ("claim", "x")]
    served.call(served.world.site.audit.add(*rows))
    page = open_page(root)
    page.goto("/fleet/audit")
    page.get_by_label("Action").focus()
    page.keyboard.type("device.claim")
    page.keyboard.press("Enter")
    expect(page.locator("table.audit tbody tr")).to_have_count(1)
    expect(page.locator("table.audit")).to_contain_text("device.claim")


@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 390)])
def test_everybody_can_use_these_pages(
    served: ServedWorld, open_page: OpenPage, root: str, dark: bool, width: int
) -> None:
    """Nothing grave by axe, and no page is wider than the window."""
    condition = AlertCondition(
        key=f"k{width}",
        kind="devices_silent",
        severity="critical",
        title="3 devices are silent: site 192.0.2.0/24",
        cause="site 192.0.2.0/24",
        entities=tuple(f"router 02:fc:00:00:00:0{n}" for n in range(3)),
    )
    keeping = AlertWriter(served.world.hub.database, "test", "test", AlertChannels())
    served.call(keeping.apply([AlertRaised(condition, time.time() - 9999)], now=time.time()))
    page = open_page(root, dark=dark, width=width, has_policy=False)  # axe writes styles
    for path in PAGES:
        page.goto(path)
        page.get_by_role("heading", level=1).wait_for()
        for menu in page.locator("details.mute summary").all()[:1]:
            menu.click()
        assert grave_violations(page, axe_source()) == [], path
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, path
