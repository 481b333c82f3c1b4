"""Serves the application in the caller's loop; the caller's signals stay the caller's."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from rookery.errors import UsageError
from rookery.hub.hub import Hub
from rookery.web.app import app
from rookery.web.http.protocol import bounded_protocol
from rookery.web.http.tls import hub_tls
from rookery.web.settings import WebSettings
from rookery.web.site import WebSite
from rookery.web.system.housekeeping import run_housekeeping

_GRACE_S = 2  # for requests under way; streams are ended first
_BACKLOG = 512
_START_S = 20.0


@asynccontextmanager
async def serve(
    hub: Hub, host: str, port: int, settings: WebSettings | None = None
) -> AsyncIterator[str]:
    """Serve until left; yields the URL, with the port that was really taken."""
    settings = settings or WebSettings()
    tls = hub_tls(hub, host, settings)
    site = WebSite(hub, settings)
    listener = _listen(host, port)
    server = _QuietServer(_config(site, settings, None if tls is None else tls.context))
    loop = asyncio.get_running_loop()
    running = loop.create_task(server.serve([listener]))
    site.alerting.url = settings.public_url or _url(listener, settings)
    background = {loop.create_task(run_housekeeping(site)), loop.create_task(site.alerting.run())}
    if tls is not None:
        background.add(loop.create_task(tls.run()))
    try:
        await _started(server, running)
        yield _url(listener, settings)
    finally:
        site.close()  # ends the streams, so that nothing has to be waited for
        server.should_exit = True
        for task in background:
            task.cancel()
        await asyncio.wait({running, *background})
        await site.closed()
    running.result()  # whatever broke the server is the caller's to know


class _QuietServer(uvicorn.Server):
    """Leaves signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _started(server: uvicorn.Server, running: asyncio.Task[None]) -> None:
    async with asyncio.timeout(_START_S):
        while not server.started and not running.done():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.01)


def _config(site: WebSite, settings: WebSettings, tls: ssl.SSLContext | None) -> uvicorn.Config:
    limits = settings.limits
    has_proxy = bool(settings.trusted_proxies)
    each_max = limits.connections_max if has_proxy else limits.connections_per_address
    config = uvicorn.Config(
        app(site),
        http=bounded_protocol(limits.headers_s, each_max, site.refusals),
        ws="none",  # sockets are the servers' business, and steps are streams
        lifespan="off",
        log_config=None,
        log_level="error",  # else every stranger's nonsense would be a line
        access_log=False,  # a line there would hold the query, and a query may hold a password
        server_header=False,
        proxy_headers=has_proxy,
        forwarded_allow_ips=settings.trusted_proxies if has_proxy else "",
        limit_concurrency=limits.connections_max,
        timeout_keep_alive=limits.keep_alive_s,
        timeout_graceful_shutdown=_GRACE_S,
        backlog=_BACKLOG,
    )
    config.load()
    config.ssl = tls  # ours can be given another certificate while it is in use
    return config


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Without its protocol's number asyncio does not turn Nagle off, and each answer takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        with contextlib.suppress(OSError):
            listener.close()
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    listener.setblocking(False)
    return listener


def _url(listener: socket.socket, settings: WebSettings) -> str:
    host, port = listener.getsockname()[:2]
    scheme = "https" if settings.is_tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
