"""The entries of the navigation: key, address, name, and the role that sees each."""

from typing import NamedTuple

from rookery.web.accounts.caller import Caller, Role


class PageSection(NamedTuple):
    """One entry of the navigation."""

    key: str  # `section` of `page()`, and the name of its icon
    url: str
    title: str  # English; templates translate it
    role: Role
    group: str = "Fleet"


PERSONAL = (
    PageSection("devices", "/", "My devices", "user", "Personal"),
    PageSection("account", "/account", "Account", "user", "Personal"),
)
FLEET = (
    PageSection("overview", "/fleet", "Overview", "operator"),
    PageSection("fleet-devices", "/fleet/devices", "All devices", "operator"),
    PageSection("map", "/fleet/map", "Map", "operator"),
    PageSection("matrix", "/fleet/matrix", "Matrix", "operator"),
    PageSection("servers", "/fleet/servers", "Servers", "operator"),
    PageSection("incidents", "/fleet/incidents", "Incidents", "operator"),
    PageSection("insights", "/fleet/insights", "Insights", "operator"),
    PageSection("topics", "/fleet/topics", "Topics", "operator"),
    PageSection("accounts", "/fleet/accounts", "Accounts", "admin"),
    PageSection("audit", "/fleet/audit", "Audit", "admin"),
    PageSection("system", "/fleet/system", "System", "operator"),
)


def sections_for(caller: Caller | None) -> list[PageSection]:
    """Those that the caller may open."""
    if caller is None:
        return []
    return [section for section in (*PERSONAL, *FLEET) if caller.is_at_least(section.role)]


def section_of(path: str) -> str:
    """The key of the section that a path lies in."""
    if path.startswith("/devices/"):
        return "devices"
    inside = [
        section
        for section in (*PERSONAL, *FLEET)
        if path == section.url or path.startswith(f"{section.url.rstrip('/')}/")
    ]
    return max(inside, key=lambda section: len(section.url)).key if inside else ""
