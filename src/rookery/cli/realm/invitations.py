"""The verbs of `rookery realm` about invitations: invite, join, invitations, withdraw."""

import asyncio
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.link.acceptance import accept
from rookery.cli.link.client_endpoint import client_endpoint
from rookery.cli.link.options import LINK_OPTIONS, LinkOptions
from rookery.cli.link.target import parse_target
from rookery.cli.realm.options import (
    DAY_S,
    DAYS,
    Days,
    Issuer,
    RealmFolder,
    Roles,
    default_name,
    load_member,
    member_identity,
    moment,
    parse_roles,
)
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import BIND_ADVICE, OK, STALE, advice, complain
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json, print_table, remark
from rookery.errors import DecodeError, UsageError
from rookery.identity.identity import Identity
from rookery.mesh.membership.invitation import PREFIX, URL_SIZE_MAX, Invitation
from rookery.mesh.membership.issued_invitations import IssuedInvitation
from rookery.runtime.endpoint.create import create
from rookery.runtime.net.address import LOOPBACK
from rookery.runtime.realm.authority import RealmAuthority
from rookery.runtime.realm.join import JoinAccepted, JoinRefused, serve_joins
from rookery.runtime.realm.join import join as join_realm
from rookery.runtime.realm.store import RealmStore
from rookery.wire.link.uri import LinkAddress
from rookery.wire.mesh.certificate import CSID_40


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class InviteWaitOptions:
    """Where the invited endpoint joins if no node of ours is running."""

    wait: Annotated[
        bool,
        Parameter(
            name="--wait",
            negative="",
            show_default=False,
            help="Wait here until the invited endpoint has joined; needs --id.",
        ),
    ] = False
    udp: Annotated[
        str | None, Parameter(name="--udp", help="With --wait: listen on UDP, IP:PORT.")
    ] = None
    tcp: Annotated[
        str | None, Parameter(name="--tcp", help="With --wait: listen on TCP, IP:PORT.")
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class InviteTermsOptions:
    """Roles and name of the invited endpoint, and how long the invitation lasts."""

    roles: Roles = "relay"
    name: Annotated[
        str,
        Parameter(
            name="--name", help="Name of the new member; without it, the one that it asks for."
        ),
    ] = ""
    minutes: Annotated[
        float, Parameter(name="--minutes", help="How long the invitation is good.")
    ] = 60.0
    days: Days = DAYS

    def invite(
        self, authority: RealmAuthority, link: LinkAddress
    ) -> tuple[IssuedInvitation, Invitation]:
        return authority.invite(
            link,
            roles=parse_roles(self.roles),
            name=self.name,
            lifetime_s=int(self.minutes * 60),
            member_s=int(self.days * DAY_S),
        )


WAIT_OPTIONS = InviteWaitOptions()
TERMS_OPTIONS = InviteTermsOptions()


def invite(
    *,
    realm: RealmFolder,
    link: Annotated[
        str | None,
        Parameter(
            name="--link",
            allow_leading_hyphen=True,
            help="LINK of our running node; without it, what the node last wrote to the folder.",
        ),
    ] = None,
    terms_options: InviteTermsOptions = TERMS_OPTIONS,
    qr: Annotated[
        bool,
        Parameter(
            name="--qr", negative="", show_default=False, help="Show a QR code too, on stderr."
        ),
    ] = False,
    wait_options: InviteWaitOptions = WAIT_OPTIONS,
    identity: Issuer = None,
    output: Output = OUTPUT,
) -> int:
    store = RealmStore(realm)
    keys = load_member(identity)
    authority = RealmAuthority(store, keys)
    if wait_options.wait:
        if keys is None:
            raise UsageError("to wait here, give --id DIR, the keys of our node")
        return run_verb(_wait(authority, keys, terms_options, wait_options, qr=qr, output=output))
    with advice("give --link the JSON link that our node printed, or --wait without a node"):
        invited, invitation = terms_options.invite(authority, _inviter(store, link))
    _print_invitation(invited, invitation, qr=qr, output=output)
    return OK


async def _wait(
    authority: RealmAuthority,
    keys: Identity,
    terms_options: InviteTermsOptions,
    wait_options: InviteWaitOptions,
    *,
    qr: bool,
    output: Output,
) -> int:
    events: asyncio.Queue[JoinAccepted | JoinRefused] = asyncio.Queue()
    udp, tcp = wait_options.udp, wait_options.tcp
    if udp is None and tcp is None:
        udp = tcp = LOOPBACK
    with advice(BIND_ADVICE):
        endpoint = await create(keys, udp=udp, tcp=tcp)
    async with endpoint:
        serve_joins(endpoint, authority.store, events.put_nowait)
        accept(endpoint, "all", ())
        invited, invitation = terms_options.invite(authority, endpoint.address)
        _print_invitation(invited, invitation, qr=qr, output=output)
        try:
            async with asyncio.timeout(invited.expires_s - time.time()):
                joined = await _joined(events, invited.id)
        except TimeoutError:
            complain("the invitation was not used in time; invite again")
            return STALE
    shown = {"hashname": joined.hashname, "name": joined.name}
    if output.json:
        print_json(shown)
    else:
        print_fields(shown.items())
    return OK


async def _joined(
    events: "asyncio.Queue[JoinAccepted | JoinRefused]", invitation: str
) -> JoinAccepted:
    while True:
        event = await events.get()
        if isinstance(event, JoinRefused):
            why = f"{event.reason} ({event.trouble})" if event.trouble else event.reason
            remark(f"refused {event.hashname}: {why}")
        elif event.invitation == invitation:
            return event


def _print_invitation(
    invited: IssuedInvitation, invitation: Invitation, *, qr: bool, output: Output
) -> None:
    url = invitation.url()
    if output.json:
        print_json({"url": url, **_as_json(invited)})
    else:
        print(url, flush=True)
    if qr:
        _print_qr(url)
    until = moment(invited.expires_s)
    remark(f"invitation {invited.id}: one endpoint with this URL can join, until {until}")


def join(
    url: Annotated[
        str,
        Parameter(
            name="URL",
            allow_leading_hyphen=True,
            help="The invitation, a file holding it, or - for stdin, where no other user sees it.",
        ),
    ],
    /,
    *,
    realm: Annotated[Path, Parameter(name="--realm", help="New folder for our membership.")],
    name: Annotated[
        str | None, Parameter(name="--name", help="What we want to be called; else as our folder.")
    ] = None,
    link_options: LinkOptions = LINK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    folder = link_options.identity
    if folder is None:
        raise UsageError("who joins? give --id DIR, the keys of the new member")
    identity = member_identity(folder)
    invitation = _parse_invitation(url)
    if (realm / "realm.json").exists():
        raise UsageError(f"{realm} holds a realm already; choose another folder")

    async def work() -> int:
        target = LinkAddress(None, {CSID_40: invitation.key}, invitation.paths)
        async with client_endpoint([target], link_options) as endpoint:
            with advice("ask the member that invited you"):
                wanted = name or default_name(folder)
                answer = await join_realm(endpoint, invitation, wanted, link_options.timeout_s)
        certificate = answer.check(invitation.realm, identity.hashname, time.time())
        await asyncio.to_thread(
            RealmStore.create, realm, invitation.realm, answer.certificate, peers=[answer.link]
        )
        shown: dict[str, object] = {
            "realm": invitation.realm.name,
            "id": invitation.realm.id.hex(),
            "hashname": certificate.hashname,
            "name": certificate.name,
            "roles": sorted(certificate.roles),
            "until": certificate.not_after_s,
            "inviter": invitation.hashname,
            "folder": str(realm),
        }
        if output.json:
            print_json(shown)
        else:
            roles = ", ".join(sorted(certificate.roles)) or "none"
            print_fields(
                {**shown, "roles": roles, "until": moment(certificate.not_after_s)}.items()
            )
        return OK

    return run_verb(work())


def invitations(*, realm: RealmFolder, output: Output = OUTPUT) -> int:
    listed = list(RealmStore(realm).invitations())
    if output.json:
        for one in listed:
            print_json(_as_json(one))
    elif listed:
        columns = ("id", "state", "roles", "until", "used by", "at", "came too late")
        print_table(columns, [_row(one) for one in listed])
    else:
        remark("there are no invitations yet")
    return OK


def withdraw(
    id_: Annotated[str, Parameter(name="ID", help="As `rookery realm invitations` has it.")],
    /,
    *,
    realm: RealmFolder,
    output: Output = OUTPUT,
) -> int:
    with (
        advice("see: rookery realm invitations"),
        RealmStore(realm).changing_invitations() as invited,
    ):
        withdrawn = invited.withdraw(id_, time.time())
    if output.json:
        print_json(_as_json(withdrawn))
    return OK


def _inviter(store: RealmStore, link: str | None) -> LinkAddress:
    if link is not None:
        return parse_target(link)
    stored = store.link()
    if stored is None:
        raise UsageError("where is our node to be reached? it was never run with this realm")
    return stored


def _parse_invitation(text: str) -> Invitation:
    with advice("copy the whole URL once more, or have another made"):
        try:
            if text == "-":
                return Invitation.parse(sys.stdin.read(URL_SIZE_MAX))
            if text.lower().startswith(PREFIX):
                return Invitation.parse(text)
            with Path(text).open(encoding="utf-8") as file:
                return Invitation.parse(file.read(URL_SIZE_MAX))
        except (DecodeError, OSError, ValueError) as error:
            what = error if isinstance(error, DecodeError) else "no invitation and no file"
            raise UsageError(f"this is no invitation: {what}") from error


def _as_json(one: IssuedInvitation) -> dict[str, object]:
    spent = one.spent
    return {
        "id": one.id,
        "state": one.state(time.time()),
        "roles": sorted(one.roles),
        "name": one.name or None,
        "made": one.made_s,
        "until": one.expires_s,
        "used_by": None if spent is None else spent.hashname,
        "used_at": None if spent is None else spent.at_s,
        "refused": [
            {"hashname": late.hashname, "at": late.at_s, "reason": late.reason}
            for late in one.refused
        ],
    }


def _row(one: IssuedInvitation) -> tuple[str, ...]:
    spent = one.spent
    return (
        one.id,
        one.state(time.time()),
        ",".join(sorted(one.roles)),
        moment(one.expires_s),
        "" if spent is None else spent.hashname,
        "" if spent is None else moment(spent.at_s),
        " ".join(dict.fromkeys(late.hashname for late in one.refused)),
    )


def _print_qr(url: str) -> None:
    """In capitals, which these codes write densest; a URL of ours means the same in them."""
    import segno

    segno.make(url.upper(), error="l").terminal(sys.stderr, compact=True, border=2)
