"""`rookery link`: link with an endpoint and show the state of the link."""

from rookery.cli.link.client_endpoint import dialled_link
from rookery.cli.link.options import LINK_OPTIONS, LinkOptions, Target
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json
from rookery.runtime.endpoint.link import AsyncLink


def link(
    target: Target, /, *, link_options: LinkOptions = LINK_OPTIONS, output: Output = OUTPUT
) -> int:
    return run_verb(_link(target, link_options, output))


async def _link(target: str, link_options: LinkOptions, output: Output) -> int:
    async with dialled_link(parse_target(target), link_options) as link:
        if output.json:
            print_json(_as_json(link))
        else:
            print_fields(described(link))
    return OK


def described(link: AsyncLink) -> list[tuple[str, object]]:
    """A link as people read it."""
    return [
        ("state", link.state.value),
        ("hashname", link.hashname),
        ("path", link.path),
        ("rtt", None if link.rtt is None else f"{link.rtt * 1000:.1f} ms"),
        ("cipher set", None if link.csid is None else f"{link.csid:02x}"),
    ]


def _as_json(link: AsyncLink) -> dict[str, object]:
    return {
        "state": link.state.value,
        "hashname": link.hashname,
        "path": None if link.path is None else link.path.json(),
        "rtt_ms": None if link.rtt is None else round(link.rtt * 1000, 3),
        "cs": None if link.csid is None else f"{link.csid:02x}",
    }
