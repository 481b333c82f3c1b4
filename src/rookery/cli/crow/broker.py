"""`rookery crow broker`: passes on what is published. The first line says where it listens."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.crow.open_tower import listen
from rookery.cli.crow.options import BROKER_PORT, LISTEN_OPTIONS, LOOPBACK, CrowListenOptions
from rookery.cli.runner import run_service, until_stopped
from rookery.cli.terminal.exit_codes import BIND_ADVICE, OK, advice
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json
from rookery.errors import UsageError
from rookery.runtime.crow.broker import CrowBroker
from rookery.runtime.crow.tower import CrowTower
from rookery.wire.crow import address


def broker(
    *,
    options: CrowListenOptions = LISTEN_OPTIONS,
    http: Annotated[
        str | None,
        Parameter(
            name="--http",
            help="Tell the status over HTTP on PORT of this machine, or on IP:PORT; it can also "
            "publish, and has no password.",
        ),
    ] = None,
    observe: Annotated[
        Path | None,
        Parameter(
            name="--observe",
            help="Folder to write messages to, for the lake; those of each --lake-theme.",
        ),
    ] = None,
    lake_themes: Annotated[
        tuple[str, ...],
        Parameter(
            name="--lake-theme",
            negative="",
            show_default=False,
            help="THEME that is marked for the lake, or a pattern such as sensors/#; repeat for "
            "more.",
        ),
    ] = (),
    output: Output = OUTPUT,
) -> int:
    if (observe is None) != (not lake_themes):
        raise UsageError("--observe FOLDER and --lake-theme THEME go together")
    if options.udp is None:
        options = dataclasses.replace(options, udp=BROKER_PORT)
    status = None if http is None else parse_http(http)

    async def work() -> int:
        # Broker first, gates second: packets that come in between must not be refused.
        async with (
            CrowTower() as tower,
            CrowBroker(tower) as serving,
            _observed(serving, observe, lake_themes),
        ):
            site = await listen(tower, options)
            where = {name: address.format(hop) for name, hop in site.addresses.items()}
            if status is not None:
                ip, port = status
                with advice(BIND_ADVICE):
                    port = await serving.serve_status(ip, port)
                where["http"] = f"http://{ip}:{port}/api/status"
            if output.json:
                print_json({"event": "listening", **where})
            else:
                print_fields(where.items())
            await until_stopped()
        return OK

    return run_service(work())


@asynccontextmanager
async def _observed(
    broker: CrowBroker, folder: Path | None, themes: tuple[str, ...]
) -> AsyncIterator[None]:
    if folder is None:
        yield
        return
    from rookery.cli.observers import observe_broker  # few brokers do

    async with observe_broker(broker, folder, themes):
        yield


def parse_http(text: str) -> tuple[str, int]:
    """`8080` or `192.0.2.1:8080`; UsageError for anything else."""
    ip, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal():
        raise UsageError(f"--http {text}: give PORT or IP:PORT, port 0 for a free one")
    return ip or LOOPBACK, int(port)
