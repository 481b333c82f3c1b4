"""Keys on the command line: stored ones, and cipher sets as people write them."""

from collections.abc import Iterable
from pathlib import Path

from rookery.cli.terminal.exit_codes import advice
from rookery.errors import UsageError
from rookery.identity.identity import Identity
from rookery.runtime.endpoint import keystore


def load_identity(folder: Path) -> Identity:
    """Stored keys; what is wrong with them comes with what to do about it."""
    if not (folder / keystore.FILE_NAME).exists():
        return keystore.load(folder)  # which says how to make some
    with advice("restore it from a backup, or make other keys with: rookery id new DIR"):
        return keystore.load(folder)


def parse_csids(text: str) -> list[int]:
    """`40,3a` as numbers; UsageError for anything else."""
    names = [name.strip() for name in text.split(",")]
    try:
        return [int(name, 16) for name in dict.fromkeys(names)]
    except ValueError as error:
        raise UsageError(f"{text!r} is no list of cipher sets; try --cs 40,3a,2a") from error


def csid_list(csids: Iterable[int]) -> str:
    """The best first, as in `40,3a`."""
    return ",".join(f"{csid:02x}" for csid in sorted(csids, reverse=True))
