"""`rookery connect`: the steps to a device as they happen, then its methods, a call a line.

› net.ping {"host": "192.0.2.1"}
› help
"""  # noqa: RUF002 (the prompt)

import asyncio
import sys
from collections.abc import AsyncIterator

import msgspec

from rookery.cli.fleet.hub_access import SIGN_IN_OPTIONS, Mac, SignInOptions, device_session
from rookery.cli.fleet.keys import parse_mac_argument
from rookery.cli.fleet.rpc import parse_params, print_result, say_error
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, print_table, remark
from rookery.cli.terminal.stdio import lines
from rookery.client.rpc_session import DeviceRpcSession
from rookery.errors import UsageError
from rookery.fleet.rendezvous.wish import WishStep
from rookery.fleet.rpc.dispatcher import DISCOVER
from rookery.fleet.rpc.message import RpcError

PROMPT = "› "  # noqa: RUF001
HELP = "help"
QUIT = frozenset({"quit", "exit"})


def connect(
    mac: Mac,
    /,
    *,
    signed_in: SignInOptions = SIGN_IN_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    device = parse_mac_argument(mac)

    def stepped(step: WishStep) -> None:
        if output.json:
            shown = {"wish": f"{step.wish:016x}", "name": step.name, "text": step.text}
            print_json({"is": "step", **shown, "at": step.at, "server": step.server})
        else:
            remark(step.text)

    async def work() -> int:
        async with device_session(signed_in, device, stepped) as session:
            return await _talk(session, output)

    return run_verb(work())


async def _talk(session: DeviceRpcSession, output: Output) -> int:
    """Make a call for each line, until stdin or the session ends."""
    is_interactive = sys.stdin.isatty() and not output.json
    if is_interactive:
        remark(f"connected; METHOD [PARAMS], {HELP} lists the methods, Ctrl-D ends")
    loop, typed, code = asyncio.get_running_loop(), lines(), OK
    ended = loop.create_task(session.wait_closed())
    try:
        while True:
            if is_interactive:
                print(PROMPT, end="", flush=True)
            reading = loop.create_task(_next(typed))
            await asyncio.wait([reading, ended], return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                reading.cancel()
                raise ended.result()
            line = reading.result()
            if line is None or line.strip() in QUIT:
                return code
            code = await _carry_out(session, line.strip(), output)
    finally:
        ended.cancel()


async def _next(typed: AsyncIterator[str]) -> str | None:
    return await anext(typed, None)


async def _carry_out(session: DeviceRpcSession, line: str, output: Output) -> int:
    """Carry out one line; its exit code. An error does not end the session."""
    if not line:
        return OK
    method, _, rest = line.partition(" ")
    try:
        if method == HELP:
            _print_methods(await session.call(DISCOVER))
        else:
            params = parse_params(rest.strip() or None)
            print_result(await session.call(method, params), output)
    except RpcError as error:
        return say_error(error, output)
    except UsageError as error:
        remark(str(error))
        return 2
    return OK


class _Argument(msgspec.Struct):
    name: str
    required: bool = False


class _Method(msgspec.Struct):
    name: str
    params: list[_Argument] = []
    summary: str = ""


class _Document(msgspec.Struct):
    methods: list[_Method]


def _print_methods(document: object) -> None:
    try:
        found = msgspec.convert(document, _Document)
    except msgspec.ValidationError as error:
        raise UsageError(f"the device describes its methods in another way: {error}") from error
    rows = [
        (
            method.name,
            " ".join(
                param.name if param.required else f"[{param.name}]" for param in method.params
            ),
            method.summary,
        )
        for method in found.methods
    ]
    print_table(("method", "parameters", "what it does"), rows)
