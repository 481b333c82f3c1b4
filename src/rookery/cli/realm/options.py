"""The options that the verbs of `rookery realm` share."""

import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.link.keys import load_identity
from rookery.errors import UsageError
from rookery.identity.identity import Identity
from rookery.wire.mesh.certificate import CSID_40, ROLE_BITS

RealmFolder = Annotated[Path, Parameter(name="--realm", help="Folder of the realm.")]
Issuer = Annotated[
    Path | None,
    Parameter(
        name="--id", help="Folder with our keys, to sign as an issuer where the root's are not."
    ),
]
Roles = Annotated[
    str,
    Parameter(
        name="--roles",
        help=f"What it may do for others, comma-separated: {', '.join(ROLE_BITS)}; none: ''.",
    ),
]
Days = Annotated[float, Parameter(name="--days", help="How long the membership lasts.")]

DAY_S = 86_400
DAYS = 365.0


def parse_roles(text: str) -> list[str]:
    """`relay,exit`; UsageError for a role that there is not."""
    roles = [role.strip() for role in text.split(",") if role.strip()]
    for role in roles:
        if role not in ROLE_BITS:
            raise UsageError(f"no role is called {role!r}; choose from {', '.join(ROLE_BITS)}")
    return roles


def load_member(folder: Path | None) -> Identity | None:
    return None if folder is None else load_identity(folder)


def member_identity(folder: Path) -> Identity:
    """Keys that a member can have."""
    identity = load_identity(folder)
    if CSID_40 not in identity.keys:
        raise UsageError(
            f"{folder} has no keys of cipher set 40, which members need; make others with: "
            "rookery id new DIR"
        )
    return identity


def default_name(folder: Path) -> str:
    """The default name of a member: that of the folder of its keys."""
    name = folder.resolve().name[:32].strip()
    return name if name and name.isprintable() else "member"


def moment(unix_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_s))
