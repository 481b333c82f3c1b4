"""`rookery devices`: the user's devices at the hub; adding a new one, claiming one that reports."""

import asyncio
import sys
import time
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from rookery.cli.fleet.hub_access import SIGN_IN_OPTIONS, Mac, SignInOptions
from rookery.cli.fleet.keys import parse_mac_argument
from rookery.cli.mesh.control import Watch
from rookery.cli.runner import run_service, run_verb
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json, print_table, remark
from rookery.client.api import HubApi, HubDevice

WATCH_S = 2.0

_CLEAR = "\x1b[H\x1b[2J"

app = App(name="devices")


@app.default
def devices(
    *, watch: Watch = False, signed_in: SignInOptions = SIGN_IN_OPTIONS, output: Output = OUTPUT
) -> int:
    """List your devices and how they are."""
    api = signed_in.api()

    async def look() -> int:
        _show(await api.devices(), output)
        return OK

    async def look_on() -> int:
        while True:
            found = await api.devices()
            if sys.stdout.isatty():
                print(_CLEAR, end="")
            _show(found, output)
            await asyncio.sleep(WATCH_S)

    return run_service(look_on()) if watch else run_verb(look())


@app.command(help_epilogue="Example:  rookery devices add")
def add(*, signed_in: SignInOptions = SIGN_IN_OPTIONS, output: Output = OUTPUT) -> int:
    """Make a code for one new device, and the command to start it with."""

    async def work(api: HubApi) -> int:
        code = await api.add_code()
        if output.json:
            print_json(msgspec.to_builtins(code))
            return OK
        left = units.span(max(code.expires_at - time.time(), 0))
        print_fields([("code", code.code), ("good for", f"one device, within {left}")])
        remark("on the device, run:")
        print(code.command, flush=True)
        return OK

    return run_verb(work(signed_in.api()))


@app.command(help_epilogue="Example:  rookery devices claim 02:fc:00:00:00:01 ABCDEFGHIJ")
def claim(
    mac: Mac,
    code: Annotated[str, Parameter(name="CODE", help="What the device's agent shows.")],
    /,
    *,
    name: Annotated[str, Parameter(name="--name", help="What to call it.")] = "",
    signed_in: SignInOptions = SIGN_IN_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    """Make a device yours that reports already, by the code that its agent shows."""

    async def work(api: HubApi, device: bytes) -> int:
        _show([await api.claim(device, code, name)], output)
        return OK

    return run_verb(work(signed_in.api(), parse_mac_argument(mac)))


def _show(found: list[HubDevice], output: Output) -> None:
    if output.json:
        for device in found:
            print_json(msgspec.to_builtins(device))
        return
    if not found:
        remark("you have no devices yet; add one with: rookery devices add")
        return
    print_table(
        ("MAC", "name", "state", "last seen", "address"),
        [
            (
                device.mac,
                device.name or units.UNKNOWN,
                device.state,
                _ago(device.last_seen),
                device.address or units.UNKNOWN,
            )
            for device in found
        ],
    )


def _ago(at: float | None) -> str:
    return units.UNKNOWN if at is None else f"{units.span(max(time.time() - at, 0))} ago"
