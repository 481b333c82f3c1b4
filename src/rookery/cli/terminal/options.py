"""The options that verbs share, and where a user's programs keep their data."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

TIMEOUT_S = 10.0


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Output:
    """How to print."""

    json: Annotated[
        bool,
        Parameter(name="--json", negative="", help="Print JSON for programs.", show_default=False),
    ] = False
    debug: Annotated[
        bool,
        Parameter(
            name="--debug",
            negative="",
            help="Show the trace of an error as well.",
            show_default=False,
        ),
    ] = False


OUTPUT = Output()


def data_folder() -> Path:
    """By the desktop's convention, else below the home folder."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "rookery"
