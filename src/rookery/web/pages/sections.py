"""The pages that navigation leads to: their keys, addresses and names, and whom they are for."""

from typing import NamedTuple

from rookery.web.callers import Caller, Role


class Section(NamedTuple):
    """One entry of the navigation."""

    key: str  # `section` of `page()`, and the name of its icon
    url: str
    title: str  # English; templates translate it
    role: Role
    group: str = "Fleet"


CABINET = (
    Section("devices", "/", "My devices", "user", "Cabinet"),
    Section("account", "/account", "Account", "user", "Cabinet"),
)
FLEET = (
    Section("overview", "/fleet", "Overview", "operator"),
    Section("fleet-devices", "/fleet/devices", "All devices", "operator"),
    Section("map", "/fleet/map", "Map", "operator"),
    Section("matrix", "/fleet/matrix", "Matrix", "operator"),
    Section("servers", "/fleet/servers", "Servers", "operator"),
    Section("incidents", "/fleet/incidents", "Incidents", "operator"),
    Section("insights", "/fleet/insights", "Insights", "operator"),
    Section("topics", "/fleet/topics", "Topics", "operator"),
    Section("audit", "/fleet/audit", "Audit", "admin"),
    Section("system", "/fleet/system", "System", "operator"),
)


def sections_for(caller: Caller | None) -> list[Section]:
    """Those that the caller may open."""
    if caller is None:
        return []
    return [section for section in (*CABINET, *FLEET) if caller.is_at_least(section.role)]


def section_of(path: str) -> str:
    """The key of the section that a path lies in."""
    if path.startswith("/devices/"):
        return "devices"
    inside = [
        section
        for section in (*CABINET, *FLEET)
        if path == section.url or path.startswith(f"{section.url.rstrip('/')}/")
    ]
    return max(inside, key=lambda section: len(section.url)).key if inside else ""
