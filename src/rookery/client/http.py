"""HTTP requests to a hub: urllib in a thread, JSON in and out, problems as errors.

    {"status": 409, "code": "silent", "detail": "… last reported …", "last_seen": 1763280000.5}

A redirection is not followed: what we send may hold a token, which is for this hub alone.
"""

import asyncio
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from rookery.client.trust import SYSTEM, HubHttpsHandler, Trust, certificate_error
from rookery.errors import (
    CongestionError,
    DeniedError,
    ProtocolError,
    RookeryError,
    UnreachableError,
    UsageError,
)
from rookery.runtime.net.address import is_loopback

BODY_SIZE_MAX = 16 << 20
LINE_SIZE_MAX = 1 << 16
EVENTS_MAX = 256  # read, but not taken
TIMEOUT_S = 30.0

_URL_SIZE_MAX = 1024
_JSON = "application/json"
_EVENTS = "text/event-stream"

Value = TypeVar("Value")


class Problem(msgspec.Struct, frozen=True):
    """Why the hub does not do it."""

    status: int = 0
    code: str = ""
    detail: str = ""
    last_seen: float | None = None
    retry_after: int | None = None


class AnonymousError(DeniedError):
    """The hub does not know us, or no longer."""


class NoRedirection(urllib.request.HTTPRedirectHandler):
    """What we send is for this hub alone."""

    def redirect_request(self, *_arguments: object) -> None:
        return None


class HttpClient:
    """One hub; `headers` go with every request."""

    def __init__(self, url: str, timeout_s: float = TIMEOUT_S, trust: Trust = SYSTEM) -> None:
        self.url = checked_url(url, may_be_plain=trust.may_be_plain)
        self.headers: dict[str, str] = {}
        self._timeout_s = timeout_s
        self._trust = trust
        handlers: list[urllib.request.BaseHandler] = [NoRedirection()]
        if self.url.startswith("https:"):
            handlers.append(HubHttpsHandler(trust.context()))
        self._opener = urllib.request.build_opener(*handlers)

    async def ask(
        self, method: str, path: str, kind: type[Value], body: object = None
    ) -> tuple[Value, HTTPResponse]:
        """The answer as a value, and its headers; an error has the hub's text."""

        def work() -> tuple[bytes, HTTPResponse]:
            with self._opened(method, path, body, self._timeout_s) as response:
                return response.read(BODY_SIZE_MAX + 1), response

        data, response = await _in_thread(work)
        if len(data) > BODY_SIZE_MAX:
            raise ProtocolError(f"the hub answers with more than {BODY_SIZE_MAX} bytes")
        if kind is type(None):
            data = b"null"
        return _decoded(data, kind), response

    async def events(self, method: str, path: str, silent_s: float) -> AsyncIterator[bytes]:
        """The data of server-sent events as they come, until the hub ends them or is silent."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[bytes | RookeryError | None] = asyncio.Queue(EVENTS_MAX)

        def put(item: bytes | RookeryError | None) -> None:
            with suppress(asyncio.QueueFull):
                queue.put_nowait(item)

        def work() -> None:
            last: RookeryError | None = None
            try:
                with self._opened(method, path, None, silent_s, _EVENTS) as response:
                    while (line := response.readline(LINE_SIZE_MAX)) != b"":
                        if line.startswith(b"data:"):
                            loop.call_soon_threadsafe(put, line[5:].strip())
            except RookeryError as error:
                last = error
            except (OSError, HTTPException) as error:
                last = UnreachableError(f"the connection to {self.url} broke: {_why(error)}")
            except RuntimeError:
                return  # the loop is closed: no task waits any more
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(put, last)

        # A daemon thread, so that a program can exit without waiting for the next event.
        threading.Thread(target=work, daemon=True).start()
        while (item := await queue.get()) is not None:
            if isinstance(item, RookeryError):
                raise item
            yield item

    def _opened(
        self, method: str, path: str, body: object, timeout_s: float, accept: str = _JSON
    ) -> HTTPResponse:
        headers = {"Accept": accept, **self.headers}
        data = None
        if body is not None:
            data = msgspec.json.encode(body)
            headers["Content-Type"] = _JSON
        request = urllib.request.Request(  # noqa: S310 (http or https, see checked_url)
            self.url + path, data=data, headers=headers, method=method
        )
        try:
            response = self._opener.open(request, timeout=timeout_s)
        except urllib.error.HTTPError as error:
            with error:
                raise error_of(_problem(error)) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None)
            if isinstance(reason, ssl.SSLError):
                raise certificate_error(self.url, reason, self._trust) from error
            raise UnreachableError(f"{self.url} does not answer: {_why(error)}") from error
        assert isinstance(response, HTTPResponse)
        return response


def checked_url(url: str, *, may_be_plain: bool = False) -> str:
    """Without what is behind the host; UsageError for what is no http or https URL.

    Beyond this machine it is https, unless plain http is allowed explicitly.
    """
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{url[:80]!r} is no URL: {error}") from error
    scheme = parts.scheme or ("http" if host and is_loopback(host) else "https")
    if scheme not in ("http", "https") or not host or len(url) > _URL_SIZE_MAX:
        raise UsageError(f"{url[:80]!r} is no hub's URL; write it as in https://hub.example.org")
    if parts.username is not None or parts.query or parts.fragment or parts.path not in ("", "/"):
        raise UsageError(f"{host}: give the URL of the hub alone, without user, path or query")
    if scheme == "http" and not may_be_plain and not is_loopback(host):
        raise UsageError(
            f"http://{host} would show password and token to everybody on the way; write https://, "
            "or say --insecure-http (with ROOKERY_TOKEN: ROOKERY_INSECURE_HTTP=1)"
        )
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}" + (f":{port}" if port is not None else "")


def error_of(problem: Problem) -> RookeryError:
    """401, 403, 404 … as what they mean to a caller, with the hub's words."""
    text = problem.detail or f"the hub answers {problem.status}"
    match problem.status:
        case 401:
            return AnonymousError(f"{text}; sign in with: rookery login URL")
        case 403:
            return DeniedError(text)
        case 400 | 405 | 413 | 415:
            return UsageError(text)
        case 429:
            when = f"; try again in {problem.retry_after} s" if problem.retry_after else ""
            return CongestionError(text + when)
        case _:  # 404: unknown, 409: silent, 503: busy
            return UnreachableError(text)


async def _in_thread(work: Callable[[], Value]) -> Value:
    try:
        return await asyncio.to_thread(work)
    except (OSError, HTTPException) as error:
        raise UnreachableError(f"the connection to the hub broke: {_why(error)}") from error


def _problem(error: urllib.error.HTTPError) -> Problem:
    try:
        problem = msgspec.json.decode(error.read(LINE_SIZE_MAX), type=Problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError, HTTPException):
        problem = Problem()
    return msgspec.structs.replace(problem, status=error.code)


def _decoded(data: bytes, kind: type[Value]) -> Value:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(f"the hub answers what we do not understand: {error}") from error


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__
