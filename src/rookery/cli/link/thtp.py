"""`rookery thtp`: an HTTP request to the other end of a link."""

import base64
import sys
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.link.client_endpoint import dialled_link
from rookery.cli.link.options import LINK_OPTIONS, LinkOptions, Target
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_verb
from rookery.cli.terminal import stdio
from rookery.cli.terminal.exit_codes import FAILED, OK, complain, served_by
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.payload import payload
from rookery.cli.terminal.screen import print_json, printable
from rookery.errors import UsageError
from rookery.runtime.endpoint.channels.thtp import ThtpResponse
from rookery.runtime.endpoint.link import AsyncLink

_ERROR_STATUS = 400


def thtp(
    method: Annotated[str, Parameter(name="METHOD", help="GET, HEAD, POST, …")],
    target: Target,
    path: Annotated[str, Parameter(name="PATH", help="What to ask for, as in /index.html?x=1.")],
    /,
    *,
    header: Annotated[
        tuple[str, ...],
        Parameter(
            name="--header", negative="", show_default=False, help="A header, NAME:VALUE; repeat."
        ),
    ] = (),
    data: Annotated[
        str | None,
        Parameter(
            name="--data", allow_leading_hyphen=True, help="The body: TEXT, @FILE, or - for stdin."
        ),
    ] = None,
    link_options: LinkOptions = LINK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    fields = dict(_header(text) for text in header)
    return run_verb(_thtp(method.upper(), target, path, fields, data, link_options, output))


async def _thtp(
    method: str,
    target: str,
    path: str,
    headers: dict[str, str],
    data: str | None,
    link_options: LinkOptions,
    output: Output,
) -> int:
    address, body = parse_target(target), payload(data)
    async with dialled_link(address, link_options) as link:
        with served_by(link.hashname[:8], "--thtp DIR|URL"):
            async with await link.thtp(method, path, headers, body) as response:
                await (_print_json(response) if output.json else _print(method, response))
        if response.status < _ERROR_STATUS:
            return OK
        complain(_failure(method, path, link, response))
        return FAILED


def _failure(method: str, path: str, link: AsyncLink, response: ThtpResponse) -> str:
    return (
        f"{method} {printable(path)} at {link.hashname[:8]}: status {response.status} "
        f"{printable(response.head.reason)}".rstrip()
        + "; check PATH and METHOD"
    )


async def _print(method: str, response: ThtpResponse) -> None:
    if method == "HEAD":
        for name, value in response.head.headers:
            print(printable(f"{name}: {value}"))
        sys.stdout.flush()
    async for piece in response:
        await stdio.write(piece)


async def _print_json(response: ThtpResponse) -> None:
    body = await response.read()
    shown: dict[str, object] = {"status": response.status, "headers": dict(response.headers)}
    try:
        print_json({**shown, "body": body.decode()})
    except UnicodeDecodeError:
        print_json({**shown, "body_base64": base64.b64encode(body).decode()})


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"{text!r} is no header; give --header NAME:VALUE")
    return name.strip(), value.strip()
