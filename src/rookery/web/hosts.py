"""The `Host` of a request, which ends up in URLs: it must look like one."""

import re

from litestar.handlers import BaseRouteHandler

from rookery.web.connection import Connection
from rookery.web.problems import RefusedError

_HOST = re.compile(r"(?:[0-9A-Za-z._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_PORT_MAX = 65_535


def host_guard(connection: Connection, _handler: BaseRouteHandler) -> None:
    """Refuse what would break, or be misread, further in."""
    found = _HOST.fullmatch(connection.headers.get("host", ""))
    if found is None or int(found[1] or 0) > _PORT_MAX:
        raise RefusedError(400, "malformed", "the Host header names no host")
