"""Sends an alert by a signed POST; its success is the status of the answer.

    POST /path HTTP/1.1
    Rookery-Delivery: 17-42-0
    Rookery-Signature: t=1763280000,v1=HEX     HMAC-SHA256 of "1763280000." and the body

The URL is set by an administrator. Redirects are failures: an answer must not send us elsewhere.
"""

import asyncio
import hmac
import ssl
from urllib.parse import SplitResult, urlsplit

from rookery.errors import UnreachableError, UsageError
from rookery.web.alerts.settings import Webhook

_URL_SIZE_MAX = 1024
_LINE_SIZE_MAX = 8192


def checked_url(url: str) -> str:
    """The URL, or UsageError without it in the text, as it may be a secret."""
    try:
        parts = urlsplit(url)
        is_usable = bool(parts.hostname) and (parts.port is None or 0 < parts.port < 1 << 16)
    except ValueError:
        is_usable = False
    if not is_usable or parts.scheme not in ("http", "https") or len(url) > _URL_SIZE_MAX:
        raise UsageError("a webhook is a URL of http or https with a host")
    if parts.username is not None or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError("a webhook's URL is plain ASCII, without a user name or password")
    return url


def signature(secret: bytes, body: bytes, now: float) -> str:
    """Value of the header; receivers compute it as well and compare in constant time."""
    stamp = f"{int(now)}"
    digest = hmac.digest(secret, stamp.encode() + b"." + body, "sha256")
    return f"t={stamp},v1={digest.hex()}"


async def post(webhook: Webhook, key: str, body: bytes, *, now: float, timeout_s: float) -> str:
    """The status as text; UnreachableError unless it is a success."""
    parts = urlsplit(webhook.url)
    try:
        async with asyncio.timeout(timeout_s):
            status = await _exchange(parts, _request(webhook, parts, key, body, now))
    except TimeoutError:
        raise UnreachableError(f"no answer within {timeout_s:g} s") from None
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise UnreachableError("it does not answer by HTTP") from None
    except (OSError, ValueError) as error:
        raise UnreachableError((str(error) or type(error).__name__)[:160]) from None
    if not 200 <= status < 300:
        raise UnreachableError(f"answered with {status}")
    return str(status)


def _request(webhook: Webhook, parts: SplitResult, key: str, body: bytes, now: float) -> bytes:
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc
    lines = (
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        "User-Agent: rookery-hub",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"Rookery-Delivery: {key}",
        f"Rookery-Signature: {signature(webhook.secret, body, now)}",
        "Connection: close",
        "",
        "",
    )
    return "\r\n".join(lines).encode("ascii") + body


async def _exchange(parts: SplitResult, request: bytes) -> int:
    is_tls = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(
        parts.hostname,
        parts.port or (443 if is_tls else 80),
        ssl=ssl.create_default_context() if is_tls else None,
        limit=_LINE_SIZE_MAX,
    )
    try:
        writer.write(request)
        await writer.drain()
        return _status(await reader.readuntil(b"\n"))
    finally:
        writer.transport.abort()  # the rest of the answer is of no interest


def _status(line: bytes) -> int:
    version, _, rest = line.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise ValueError("it does not answer by HTTP")
    return int(rest[:3])
