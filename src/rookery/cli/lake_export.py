"""`rookery lake export`: what the lake expects, signed, for those who act on it."""

import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli import figures
from rookery.cli.exits import OK, STALE
from rookery.cli.keys import load_identity
from rookery.cli.lake_options import PLACE, Place, open_lake, seconds
from rookery.cli.options import OUTPUT, Output
from rookery.cli.screen import print_json, remark


def export(
    *,
    identity: Annotated[
        Path, Parameter(name="--id", help="Folder with the keys that sign; see: rookery id new")
    ],
    out: Annotated[Path, Parameter(name="--out", help="Folder for the files.")] = Path(),
    lifetime: Annotated[
        str, Parameter(name="--lifetime", help="After that nobody follows them any more.")
    ] = "1d",
    place: Place = PLACE,
    output: Output = OUTPUT,
) -> int:
    signer = load_identity(identity)
    lifetime_s = int(seconds(lifetime))
    lake = open_lake(place)
    from rookery.lake.export import export as write

    now_ms = time.time_ns() // 1_000_000
    written = write(lake, signer, out, now_ms=now_ms, lifetime_s=lifetime_s)
    for each in written:
        if output.json:
            print_json({**each._asdict(), "file": str(each.file), "issuer": signer.hashname})
        elif each.problem:
            remark(f"{each.file}: {each.problem}")
        else:
            left = figures.span((each.expires_ms - now_ms) / 1000)
            remark(f"{each.file}: {each.entries} entries, for {left}, by {signer.hashname}")
    return OK if any(not each.problem for each in written) else STALE
