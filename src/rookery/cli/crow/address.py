"""`rookery crow address`: the text of a route, and the bytes that it stands for."""

import re
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json
from rookery.errors import UsageError
from rookery.wire.crow import address as crow_address
from rookery.wire.crow.packet import ADDRESS_SIZE_MAX

_BETWEEN_BYTES = re.compile(r"[\s:]+")  # the C++ tools print a colon there


def address(
    text: Annotated[
        str | None,
        Parameter(name="TEXT", help="A route, as in .12.127.0.0.1:10009; every hop after another."),
    ] = None,
    /,
    *,
    hexadecimal: Annotated[
        str | None, Parameter(name="--hex", help="Its bytes, to be printed as text.")
    ] = None,
    output: Output = OUTPUT,
) -> int:
    if (text is None) == (hexadecimal is None):
        raise UsageError("give either TEXT or --hex BYTES")
    if hexadecimal is not None:
        route = _route(hexadecimal)
        shown = crow_address.format(route)
    else:
        assert text is not None
        route = crow_address.parse(text)
        shown = route.hex()
    if output.json:
        print_json({"text": crow_address.format(route), "hex": route.hex(), "size": len(route)})
    else:
        print(shown)
    return OK


def _route(text: str) -> bytes:
    try:
        route = bytes.fromhex(_BETWEEN_BYTES.sub("", text))
    except ValueError as error:
        raise UsageError(f"{text[:60]!r} is not hex; give two digits a byte") from error
    if len(route) > ADDRESS_SIZE_MAX:
        raise UsageError(f"an address of {len(route)} bytes, {ADDRESS_SIZE_MAX} is the longest")
    return route
