"""The WebAuthn relying party: the public URL if set, else the host of the request."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from rookery.web.accounts.factors.webauthn import WebAuthnParty
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import Connection
from rookery.web.site import WebSite

_PORTS = {"http": 80, "https": 443}


def party(connection: Connection, site: WebSite) -> WebAuthnParty:
    """Passkeys belong to a host name; addresses have none."""
    host = connection.headers.get("host", "")
    url = site.settings.public_url or f"{connection.scope['scheme']}://{host}"
    parts = urlsplit(url)
    name, scheme = (parts.hostname or "").rstrip("."), parts.scheme
    if not name or _is_address(name):
        detail = "passkeys belong to a host name: open the hub by its name, not by its address"
        raise RequestRefusedError(409, "no_host_name", detail)
    is_usual = parts.port is None or parts.port == _PORTS.get(scheme)
    return WebAuthnParty(name, f"{scheme}://{name}" + ("" if is_usual else f":{parts.port}"))


def issuer(connection: Connection, site: WebSite) -> str:
    """As authenticator apps list us."""
    host = connection.headers.get("host", "")
    name = urlsplit(site.settings.public_url or f"//{host}").hostname or "hub"
    return f"rookery {name}"


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
