"""`rookery link`: link with somebody and say how that went."""

from rookery.cli.client import dialled
from rookery.cli.exits import OK
from rookery.cli.life import run_verb
from rookery.cli.options import DIALLING, OUTPUT, Dialling, Output, Target
from rookery.cli.screen import print_fields, print_json
from rookery.cli.target import parse_target
from rookery.runtime.link import Link


def link(target: Target, /, *, dialling: Dialling = DIALLING, output: Output = OUTPUT) -> int:
    return run_verb(_link(target, dialling, output))


async def _link(target: str, dialling: Dialling, output: Output) -> int:
    async with dialled(parse_target(target), dialling) as link:
        if output.json:
            print_json(_as_json(link))
        else:
            print_fields(described(link))
    return OK


def described(link: Link) -> list[tuple[str, object]]:
    """A link as people read it."""
    return [
        ("state", link.state.value),
        ("hashname", link.hashname),
        ("path", link.path),
        ("rtt", None if link.rtt is None else f"{link.rtt * 1000:.1f} ms"),
        ("cipher set", None if link.csid is None else f"{link.csid:02x}"),
    ]


def _as_json(link: Link) -> dict[str, object]:
    return {
        "state": link.state.value,
        "hashname": link.hashname,
        "path": None if link.path is None else link.path.json(),
        "rtt_ms": None if link.rtt is None else round(link.rtt * 1000, 3),
        "cs": None if link.csid is None else f"{link.csid:02x}",
    }
