"""`rookery id`: make keys, and show the public half of them."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from rookery.cli.link.keys import csid_list, load_identity, parse_csids
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json
from rookery.identity.cipher_sets import DEFAULT_CSIDS
from rookery.identity.identity import Identity
from rookery.runtime.endpoint import keystore
from rookery.wire import base32

app = App(name="id")

Folder = Annotated[Path, Parameter(name="DIR", help="Folder that holds the keys.")]


@app.command(
    name="new",
    help="Make an endpoint's keys in a folder of their own.",
    help_epilogue="Example:  rookery id new bob --cs 40,3a",
)
def new(
    folder: Folder,
    /,
    *,
    cs: Annotated[
        str,
        Parameter(
            name="--cs",
            help="Cipher sets, comma-separated: 40 is ours, 3a and 2a are Telehash's, 1a is its "
            "oldest and needs rookery[legacy].",
        ),
    ] = csid_list(DEFAULT_CSIDS),
    output: Output = OUTPUT,
) -> int:
    _show(keystore.create(folder, parse_csids(cs)), folder, output)
    return OK


@app.command(
    name="show",
    help="Show the hashname and the public keys in a folder; secrets stay there.",
    help_epilogue="Example:  rookery id show bob --json > bob.public\n\n"
    "With --json it is a JSON link, good for another endpoint's --known.",
)
def show(folder: Folder, /, *, output: Output = OUTPUT) -> int:
    _show(load_identity(folder), folder, output)
    return OK


def _show(identity: Identity, folder: Path, output: Output) -> None:
    keys = {
        f"{csid:02x}": base32.encode(key)
        for csid, key in sorted(identity.keys.items(), reverse=True)
    }
    if output.json:
        print_json({"hashname": identity.hashname, "keys": keys, "folder": str(folder)})
    else:
        fields = [(f"key {csid}", key) for csid, key in keys.items()]
        print_fields([("hashname", identity.hashname), *fields, ("folder", folder)])
