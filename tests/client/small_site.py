"""The HTTP side of a hub, in a thread: answers by path, and remembers what was asked."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple


class Asked(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes


class Reply(NamedTuple):
    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def reply(value: object, status: int = 200, *headers: tuple[str, str]) -> Reply:
    return Reply(status, json.dumps(value).encode(), headers)


class SmallSite(ThreadingHTTPServer):
    """`replies` by method and path, as in "GET /api/v1/me"."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: dict[str, Reply] = {}
        self.asked: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: SmallSite

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(Asked(self.command, self.path, headers, self.rfile.read(size)))
        answer = self.server.replies.get(f"{self.command} {self.path}", Reply(404, b"nothing here"))
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_DELETE = _answer  # noqa: N815 (as the base class calls them)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nobody reads it."""


@contextmanager
def small_site() -> Iterator[SmallSite]:
    with SmallSite() as site:
        thread = Thread(target=site.serve_forever, args=[0.01])
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
