"""Options of `rookery node`, in groups: links, exits, services, monitoring, advice."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.errors import UsageError
from rookery.identity.hashname import is_hashname
from rookery.runtime.control.server import FILE_NAME
from rookery.runtime.net.address import LOOPBACK

if TYPE_CHECKING:
    from rookery.runtime.node.advice import AdviceSettings


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NodeLinkOptions:
    """Addresses, peers to dial, and link costs."""

    listen: Annotated[
        str,
        Parameter(name="--listen", help="Take TCP and UDP here, IP:PORT; port 0 for a free one."),
    ] = LOOPBACK
    unix: Annotated[
        Path | None,
        Parameter(name="--unix", help="Take programs of this machine at this Unix socket as well."),
    ] = None
    advertise: Annotated[
        tuple[str, ...],
        Parameter(
            name="--advertise",
            negative="",
            show_default=False,
            help="IP:PORT that leads here from outside, where a NAT forwards it; repeat for more. "
            "`none` where nothing does.",
        ),
    ] = ()
    peers: Annotated[
        tuple[str, ...],
        Parameter(
            name="--peer",
            negative="",
            show_default=False,
            help="LINK of a member to dial first; repeat for more.",
        ),
    ] = ()
    costs: Annotated[
        tuple[str, ...],
        Parameter(
            name="--cost",
            negative="",
            show_default=False,
            help="NAME=MS makes the link to that member dearer by so many milliseconds, or cheaper "
            "by a negative number; repeat for more.",
        ),
    ] = ()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NodeMonitoringOptions:
    """Control socket, metrics and observations."""

    control: Annotated[
        Path | None,
        Parameter(
            name="--control", help=f"The control socket; else {FILE_NAME} in the --id folder."
        ),
    ] = None
    metrics: Annotated[
        str | None,
        Parameter(
            name="--metrics",
            help="Serve metrics and health over HTTP here, IP:PORT, or PORT for this machine only.",
        ),
    ] = None
    observe: Annotated[
        Path | None,
        Parameter(
            name="--observe",
            help="Folder to write links, records, routes and ended requests to, for the lake.",
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NodeExitOptions:
    """What other members may reach from here; nothing unless a rule says so."""

    rules: Annotated[
        tuple[str, ...],
        Parameter(
            name="--exit",
            negative="",
            show_default=False,
            help='RULE such as "tcp *:443", "udp 192.0.2.1:53", "bind tcp 127.0.0.1:8000-8099" or '
            '"serial meter", each perhaps with "from HASHNAME"; repeat for more.',
        ),
    ] = ()
    devices: Annotated[
        tuple[str, ...],
        Parameter(
            name="--device",
            negative="",
            show_default=False,
            help="NAME=PATH of a serial line, for rules and members to call it by; repeat for "
            "more.",
        ),
    ] = ()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class NodeServiceOptions:
    """What other members may do here; no files unless a folder is named."""

    folders: Annotated[
        tuple[str, ...],
        Parameter(
            name="--folder",
            negative="",
            show_default=False,
            help="NAME=DIR lets members copy files from a folder, NAME=DIR:rw also to it, each "
            'perhaps with " from HASHNAME"; repeat for more.',
        ),
    ] = ()
    bench: Annotated[
        bool,
        Parameter(name="--bench", help="Take part when a member measures the route to here."),
    ] = True
    outbox: Annotated[
        Path | None,
        Parameter(
            name="--outbox", help="File to keep queued requests in, so that they survive the node."
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AdviceOptions:
    """Whose advice about future link costs is followed; none by default."""

    advisors: Annotated[
        tuple[str, ...],
        Parameter(
            name="--advisor",
            negative="",
            show_default=False,
            help="HASHNAME of a signer whose advice about links is followed; repeat for more.",
        ),
    ] = ()
    file: Annotated[
        Path | None,
        Parameter(
            name="--advice",
            help="File that a lake exports, with what it expects of the links; read again when "
            "it changes. Without it members are asked.",
        ),
    ] = None
    members: Annotated[
        tuple[str, ...],
        Parameter(
            name="--advice-from",
            negative="",
            show_default=False,
            help="HASHNAME of a member to ask for advice, if not the advisors themselves; repeat "
            "for more.",
        ),
    ] = ()
    serve: Annotated[
        bool,
        Parameter(
            name="--serve-advice",
            negative="",
            show_default=False,
            help="Give other members the advice that is followed here.",
        ),
    ] = False
    no_advice: Annotated[
        bool,
        Parameter(
            name="--no-advice",
            negative="",
            show_default=False,
            help="Follow no advice, whatever else is said.",
        ),
    ] = False

    def settings(self, realm: Path) -> "AdviceSettings | None":
        """None when no advice is to be followed; UsageError for options that do not fit."""
        for option, names in (("--advisor", self.advisors), ("--advice-from", self.members)):
            for name in names:
                if not is_hashname(name):
                    raise UsageError(f"{option} {name}: give the hashname of 52 characters")
        if self.no_advice:
            return None
        if not self.advisors:
            if self.file or self.members or self.serve:
                raise UsageError("name an --advisor HASHNAME, whose signature is believed")
            return None
        from rookery.runtime.node.advice import SWITCH, AdviceSettings  # few nodes need it

        return AdviceSettings(
            switch=realm / SWITCH,
            advisors=frozenset(self.advisors),
            file=self.file,
            members=self.members,
            is_served=self.serve,
        )


LINK_OPTIONS = NodeLinkOptions()
EXIT_OPTIONS = NodeExitOptions()
SERVICE_OPTIONS = NodeServiceOptions()
MONITORING_OPTIONS = NodeMonitoringOptions()
ADVICE_OPTIONS = AdviceOptions()
