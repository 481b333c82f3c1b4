"""Which strangers an endpoint links with."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Literal

from cyclopts import Parameter

from rookery.cli.link.target import parse_target
from rookery.errors import CongestionError
from rookery.link.session.handshake import Stranger
from rookery.runtime.endpoint.endpoint import AsyncEndpoint
from rookery.wire.link.path import PeerPath

Accept = Annotated[
    Literal["all", "known"],
    Parameter(name="--accept", help="Link with everybody who comes, or with --known ones only."),
]
Known = Annotated[
    tuple[str, ...],
    Parameter(
        name="--known",
        negative="",
        show_default=False,
        help="LINK of a peer to link with, also its `rookery id show --json`; repeat for more.",
    ),
]
Via = Annotated[
    tuple[str, ...],
    Parameter(
        name="--via",
        negative="",
        show_default=False,
        help="LINK of a router that may introduce others to us; repeat for more.",
    ),
]


def accept(endpoint: AsyncEndpoint, policy: Literal["all", "known"], known: Sequence[str]) -> None:
    """Known peers have a link from the start; all others are strangers."""
    for text in known:
        endpoint.link(parse_target(text))
    if policy == "known":
        return

    def admit(stranger: Stranger) -> None:
        if _comes_to_us(stranger):
            with suppress(CongestionError):  # full: whoever has a link keeps it
                endpoint.link(stranger)

    endpoint.on_discover = admit


def trust_routers(endpoint: AsyncEndpoint, via: Sequence[str]) -> None:
    for text in via:
        endpoint.link(parse_target(text)).router()


def _comes_to_us(stranger: Stranger) -> bool:
    """An announcement is no wish to link: dialling back would show us to everybody nearby."""
    is_introduced = any(isinstance(path, PeerPath) for path in stranger.paths)
    return stranger.handshake is not None or is_introduced
