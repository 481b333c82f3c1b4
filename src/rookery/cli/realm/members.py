"""The verbs of `rookery realm` about members: init, show, members, renew, revoke."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

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
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json, print_table, remark
from rookery.errors import UsageError
from rookery.identity.hashname import is_hashname, named_by
from rookery.identity.realm import issuer_of
from rookery.mesh.membership.membership import Membership
from rookery.runtime.realm.authority import RealmAuthority, found
from rookery.runtime.realm.store import RealmStore
from rookery.wire import base32
from rookery.wire.mesh.certificate import Certificate
from rookery.wire.mesh.statement import CERTIFICATE, Statement

MemberName = Annotated[
    str, Parameter(name="HASHNAME", help="Whose: a hashname, the beginning of one, or a name.")
]


def init(
    folder: Annotated[Path, Parameter(name="DIR", help="New folder for the realm.")],
    /,
    *,
    name: Annotated[str, Parameter(name="--name", help="What the realm is called.")],
    identity: Annotated[Path, Parameter(name="--id", help="Folder with our keys.")],
    member_name: Annotated[
        str | None, Parameter(name="--as", help="What we are called in it; else as our folder.")
    ] = None,
    roles: Roles = "relay",
    days: Days = DAYS,
    output: Output = OUTPUT,
) -> int:
    store = found(
        folder,
        name,
        member_identity(identity),
        member_name=member_name or default_name(identity),
        roles=parse_roles(roles),
        member_s=int(days * DAY_S),
    )
    _show(store, output)
    remark(f"{folder}/authority.key is the realm's secret: keep a copy in a safe place")
    return OK


def show(*, realm: RealmFolder, output: Output = OUTPUT) -> int:
    _show(RealmStore(realm), output)
    return OK


def members(*, realm: RealmFolder, output: Output = OUTPUT) -> int:
    listed = _listed(RealmStore(realm))
    if output.json:
        for one in listed:
            print_json(one.json())
    else:
        columns = ("name", "hashname", "roles", "since", "until", "state")
        print_table(columns, [one.row() for one in listed])
    return OK


def renew(
    name_or_hashname: MemberName,
    /,
    *,
    realm: RealmFolder,
    roles: Annotated[
        str | None, Parameter(name="--roles", help="Other roles; without it, those it has.")
    ] = None,
    days: Days = DAYS,
    identity: Issuer = None,
    output: Output = OUTPUT,
) -> int:
    store = RealmStore(realm)
    authority = RealmAuthority(store, load_member(identity))
    hashname = _resolved(store, name_or_hashname)
    member = store.membership(time.time()).by_hashname(hashname)
    if member is None:
        raise UsageError(f"{hashname[:8]} is no member; invite it again with: rookery realm invite")
    chosen = None if roles is None else parse_roles(roles)
    data = authority.renew(member, chosen, int(days * DAY_S))
    certificate = Certificate.parse(Statement.parse(data).content)
    _print(_MemberRow(certificate.hashname, certificate, "member"), output)
    return OK


def revoke(
    name_or_hashname: MemberName,
    /,
    *,
    realm: RealmFolder,
    identity: Issuer = None,
    output: Output = OUTPUT,
) -> int:
    store = RealmStore(realm)
    authority = RealmAuthority(store, load_member(identity))
    hashname = _resolved(store, name_or_hashname)
    group = store.membership(time.time())
    if hashname == group.own.hashname:
        raise UsageError("that is ourselves; revoke us from another place that signs for the realm")
    member = group.by_hashname(hashname)
    revocation = authority.revoke(hashname)
    name = None if member is None else member.name
    if output.json:
        print_json({"hashname": hashname, "name": name, "revoked_at": revocation.at_s})
    else:
        at = moment(revocation.at_s)
        print_fields([("hashname", hashname), ("name", name), ("revoked", at)])
    if store.invitations().is_any_open(time.time()):
        remark("invitations are still open: rookery realm invitations, rookery realm withdraw")
    return OK


@dataclass(frozen=True)
class _MemberRow:
    """One line of the list; no certificate when only a revocation tells of it."""

    hashname: str
    certificate: Certificate | None
    state: str
    revoked_s: int | None = None

    def json(self) -> dict[str, object]:
        shown: dict[str, object] = {"hashname": self.hashname, "state": self.state}
        if self.certificate is not None:
            issuer = issuer_of(self.certificate)
            shown |= {
                "name": self.certificate.name,
                "roles": sorted(self.certificate.roles),
                "since": self.certificate.not_before_s,
                "until": self.certificate.not_after_s,
                "issuer": None if issuer is None else issuer.hashname,
            }
        return {**shown, "revoked_at": self.revoked_s}

    def row(self) -> tuple[str, ...]:
        state = self.state if self.revoked_s is None else f"revoked {moment(self.revoked_s)}"
        if self.certificate is None:
            return "", self.hashname, "", "", "", state
        one = self.certificate
        roles = ",".join(sorted(one.roles))
        return (
            one.name,
            self.hashname,
            roles,
            moment(one.not_before_s),
            moment(one.not_after_s),
            state,
        )


def _listed(store: RealmStore) -> list[_MemberRow]:
    group = store.membership(time.time())
    revoked = dict(group.revoked)
    listed = {}
    for data in [group.own.certificate, *store.statements()]:
        statement = Statement.parse(data)
        if statement.kind == CERTIFICATE:
            one = _state(group, Certificate.parse(statement.content), data)
            if one.hashname not in listed or one.state == "member":
                listed[one.hashname] = one
    for hashname, revocation in revoked.items():
        if hashname not in listed:
            listed[hashname] = _MemberRow(hashname, None, "revoked", revocation.at_s)
    return sorted(listed.values(), key=lambda one: (one.state, one.row()))


def _state(group: Membership, certificate: Certificate, data: bytes) -> _MemberRow:
    hashname = certificate.hashname
    member, revocation = group.by_hashname(hashname), group.revoked.get(hashname)
    if member is not None and member.certificate == data:
        return _MemberRow(hashname, certificate, "member")
    if revocation is not None and revocation.covers(certificate):
        return _MemberRow(hashname, certificate, "revoked", revocation.at_s)
    return _MemberRow(hashname, certificate, "ended")


def _resolved(store: RealmStore, name_or_hashname: str) -> str:
    """The hashname of the one member that is meant; UsageError if there is none, or several."""
    if is_hashname(name_or_hashname):
        return name_or_hashname
    listed = named_by(
        name_or_hashname,
        _listed(store),
        lambda one: (one.certificate.name if one.certificate else "", one.hashname),
    )
    found = {one.hashname for one in listed}
    if len(found) != 1:
        many = "several members are" if found else "no member is"
        raise UsageError(f"{many} called {name_or_hashname!r}; see: rookery realm members")
    return found.pop()


def _show(store: RealmStore, output: Output) -> None:
    now_s = time.time()
    group = store.membership(now_s)
    own, state = group.own, _state(group, _certificate(group), group.own.certificate)
    open_count = sum(one.state(now_s) == "open" for one in store.invitations())
    shown = {
        "realm": store.realm.name,
        "id": store.realm.id.hex(),
        "root": base32.encode(store.realm.root),
        "founded_here": store.is_founded_here,
        "hashname": own.hashname,
        "name": own.name,
        "roles": sorted(own.roles),
        "until": own.not_after_s,
        "state": state.state,
        "members": len(group.members),
        "open_invitations": open_count,
        "folder": str(store.folder),
    }
    if output.json:
        print_json(shown)
        return
    readable = {
        "founded_here": "yes" if store.is_founded_here else "no",
        "roles": ", ".join(sorted(own.roles)) or "none",
        "until": moment(own.not_after_s),
    }
    print_fields([(name.replace("_", " "), value) for name, value in (shown | readable).items()])


def _certificate(group: Membership) -> Certificate:
    return Certificate.parse(Statement.parse(group.own.certificate).content)


def _print(one: _MemberRow, output: Output) -> None:
    if output.json:
        print_json(one.json())
    else:
        names = ("name", "hashname", "roles", "since", "until", "state")
        print_fields(zip(names, one.row(), strict=True))
