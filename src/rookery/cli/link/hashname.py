"""`rookery hashname`: the fingerprint of public keys."""

import re
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.terminal.exit_codes import OK, USAGE, complain
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json
from rookery.errors import DecodeError, UsageError
from rookery.identity.hashname import hashname as hashname_of
from rookery.wire import base32

_KEY = re.compile(r"([0-9a-f]{2})=([a-z2-7]+)", re.ASCII)


def hashname(
    *keys: Annotated[
        str,
        Parameter(name="CSID=BASE32", help="A public key under its cipher set, as in 3a=aaiq…."),
    ],
    output: Output = OUTPUT,
) -> int:
    if not keys:
        complain("no keys given; try: rookery hashname 3a=BASE32")
        return USAGE
    name = hashname_of(dict(_key(text) for text in keys))
    if output.json:
        print_json({"hashname": name})
    else:
        print(name)
    return OK


def _key(text: str) -> tuple[int, bytes]:
    match = _KEY.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{text[:60]!r} is no public key; give CSID=BASE32, as `rookery id show` has them"
        )
    try:
        return int(match[1], 16), base32.decode(match[2])
    except DecodeError as error:
        raise UsageError(f"the key of {match[1]} is not base32; copy it once more") from error
