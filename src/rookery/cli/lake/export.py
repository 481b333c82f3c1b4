"""`rookery lake export`: forecasts and advice as signed files, for hubs and nodes."""

import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.lake.options import LAKE_OPTIONS, LakeOptions, open_lake
from rookery.cli.link.keys import load_identity
from rookery.cli.terminal import units
from rookery.cli.terminal.exit_codes import OK, STALE
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, remark


def export(
    *,
    identity: Annotated[
        Path, Parameter(name="--id", help="Folder with the keys that sign; see: rookery id new")
    ],
    out: Annotated[Path, Parameter(name="--out", help="Folder for the files.")] = Path(),
    lifetime: Annotated[
        str, Parameter(name="--lifetime", help="How long they are followed.")
    ] = "1d",
    lake_options: LakeOptions = LAKE_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    signer = load_identity(identity)
    lifetime_s = int(units.parse_span(lifetime))
    lake = open_lake(lake_options)
    from rookery.lake.feedback.export import export as write

    now_ms = time.time_ns() // 1_000_000
    written = write(lake, signer, out, now_ms=now_ms, lifetime_s=lifetime_s)
    for each in written:
        if output.json:
            print_json({**each._asdict(), "file": str(each.file), "issuer": signer.hashname})
        elif each.problem:
            remark(f"{each.file}: {each.problem}")
        else:
            left = units.span((each.expires_ms - now_ms) / 1000)
            remark(f"{each.file}: {each.entries} entries, for {left}, by {signer.hashname}")
    return OK if any(not each.problem for each in written) else STALE
