"""`rookery rpc`: one call of a device's method; the result goes to stdout as JSON."""

import sys
from typing import Annotated

import msgspec
from cyclopts import Parameter

from rookery.cli.fleet.hub_access import SIGN_IN_OPTIONS, Mac, SignInOptions, device_session
from rookery.cli.fleet.keys import parse_mac_argument
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import DENIED, FAILED, OK, UNREACHABLE, complain
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, printable, remark
from rookery.client.rpc_session import CALL_S
from rookery.errors import UsageError
from rookery.fleet.rendezvous.wish import WishStep
from rookery.fleet.rpc import message
from rookery.fleet.rpc.message import RpcError


def rpc(
    mac: Mac,
    method: Annotated[
        str, Parameter(name="METHOD", help="As in net.ping; rpc.discover lists them.")
    ],
    params: Annotated[
        str | None,
        Parameter(name="PARAMS", help='JSON: {"host": "192.0.2.1"} by name, ["a"] in order.'),
    ] = None,
    /,
    *,
    timeout_s: Annotated[
        float, Parameter(name="--timeout", help="Seconds to wait for the answer.")
    ] = CALL_S,
    signed_in: SignInOptions = SIGN_IN_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    device, arguments = parse_mac_argument(mac), parse_params(params)

    async def work() -> int:
        async with device_session(signed_in, device, _tell) as session:
            try:
                result = await session.call(method, arguments, timeout_s)
            except RpcError as error:
                return say_error(error, output)
        print_result(result, output)
        return OK

    return run_verb(work())


def parse_params(text: str | None) -> object:
    """An array or an object; UsageError for anything else."""
    if text is None:
        return msgspec.UNSET
    try:
        arguments = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"PARAMS is no JSON: {error}") from error
    if not isinstance(arguments, dict | list):
        raise UsageError("PARAMS is a JSON object, or an array")
    return arguments


def print_result(result: object, output: Output) -> None:
    if output.json:
        print_json({"result": result})
    else:
        text = msgspec.json.format(msgspec.json.encode(result)).decode()
        print("\n".join(map(printable, text.splitlines())), flush=True)


def say_error(error: RpcError, output: Output) -> int:
    """Print the device's error; the exit code for it."""
    if output.json:
        fields: dict[str, object] = {"code": error.code, "message": error.message}
        if error.data is not msgspec.UNSET:
            fields["data"] = error.data
        print_json({"error": fields})
    complain(described(error))
    match error.code:
        case message.DENIED:
            return DENIED
        case message.TIMED_OUT | message.DEVICE_LOST:
            return UNREACHABLE
        case _:
            return FAILED


def described(error: RpcError) -> str:
    if error.code == message.METHOD_NOT_FOUND:
        return f"{error}; rpc.discover lists those there are"
    if error.data is msgspec.UNSET:
        return str(error)
    detail = error.data if isinstance(error.data, str) else msgspec.json.encode(error.data).decode()
    return f"{error}: {detail}"


def _tell(step: WishStep) -> None:
    """Show steps to people, not to programs."""
    if sys.stderr.isatty():
        remark(step.text)
