"""`rookery login`: sign in to a hub once; a token is kept for the verbs that need one."""

import getpass
import os
import platform
import sys
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from rookery.cli.fleet.hub_access import SIGN_IN_OPTIONS, SignInOptions
from rookery.cli.fleet.hub_trust import hub_authority
from rookery.cli.fleet.tls_options import InsecureHttp
from rookery.cli.runner import run_verb
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, remark
from rookery.client import credentials
from rookery.client.api import HubApi
from rookery.client.credentials import HubCredentials
from rookery.client.http import checked_url
from rookery.client.known_hubs import KnownHubs
from rookery.client.trust import Trust
from rookery.errors import RookeryError, UsageError

PASSWORD_ENVIRONMENT = "ROOKERY_PASSWORD"  # noqa: S105 (its name)

CODE_ENVIRONMENT = "ROOKERY_SECOND_FACTOR"

_PASSWORD_SIZE_MAX = 1024
_CODE_PROMPT = "code of the second factor, or a recovery code (Enter if there is none): "


class _LoginForm(msgspec.Struct, frozen=True):
    """Login, password and second factor of a sign-in."""

    login: str
    password: str
    code: str

    def __repr__(self) -> str:
        return f"_LoginForm({self.login!r})"


def login(
    url: Annotated[
        str | None, Parameter(name="URL", help="The hub's, as in https://hub.example.org.")
    ] = None,
    /,
    *,
    name: Annotated[
        str | None, Parameter(name="--login", help="Who you are there; else it is asked for.")
    ] = None,
    register: Annotated[
        bool,
        Parameter(
            name="--register", negative="", show_default=False, help="Make the account first."
        ),
    ] = False,
    logout: Annotated[
        bool,
        Parameter(
            name="--logout", negative="", show_default=False, help="Revoke the token, forget it."
        ),
    ] = False,
    ca: Annotated[
        Path | None,
        Parameter(
            name="--ca", help="File with the authority that signs the hub's certificate, as PEM."
        ),
    ] = None,
    fingerprint: Annotated[
        str | None,
        Parameter(
            name="--fingerprint",
            help="SHA256:… of the hub's authority, as the hub prints it when it starts; without, "
            "an unknown one is asked about at a terminal, and refused elsewhere.",
        ),
    ] = None,
    insecure_http: InsecureHttp = False,
    signed_in: SignInOptions = SIGN_IN_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if logout:
        return run_verb(_sign_out(signed_in, output))
    if url is None:
        raise UsageError("sign in where? Give the hub's URL")
    url = checked_url(url, may_be_plain=insecure_http)
    authority = hub_authority(url, ca, fingerprint, signed_in.folder)
    trust = Trust(authority=authority, may_be_plain=insecure_http)
    account = name or _prompted_name()
    entry = _LoginForm(account, _password(), "" if register else _code())
    return run_verb(_sign_in(url, entry, trust, signed_in, output, is_new=register))


async def _sign_in(
    url: str,
    entry: _LoginForm,
    trust: Trust,
    signed_in: SignInOptions,
    output: Output,
    *,
    is_new: bool,
) -> int:
    api = HubApi(url, trust=trust)
    if is_new:
        await api.register(entry.login, entry.password)
    me = await api.sign_in(entry.login, entry.password, entry.code)
    token = await api.make_token(f"rookery on {platform.node()}"[:64])
    await api.sign_out()
    kept = HubCredentials(
        url=api.url,
        login=me.login,
        token=token.token,
        token_id=token.id,
        authority=trust.authority or msgspec.UNSET,
    )
    if trust.authority:
        KnownHubs(signed_in.folder).pin(api.url, trust.authority)
    credentials.save(signed_in.folder, kept)
    signed_in.identity()  # takes a moment, which is better spent here than on the first call
    if output.json:
        print_json({"url": api.url, "login": me.login, "role": me.role, "token_id": token.id})
    else:
        print(f"signed in to {api.url} as {me.login}", flush=True)
    return OK


async def _sign_out(signed_in: SignInOptions, output: Output) -> int:
    kept = credentials.load(signed_in.folder)
    problem = ""
    try:
        await HubApi(kept.url, kept.token, kept.trust).revoke_own_token()
    except RookeryError as error:
        problem = f"the token could not be revoked: {error}; revoke it on the account page"
        remark(problem)
    credentials.remove(signed_in.folder)
    if output.json:
        print_json({"url": kept.url, "login": kept.login, "is_revoked": not problem})
    else:
        print(f"signed out of {kept.url}", flush=True)
    return OK


def _prompted_name() -> str:
    if not sys.stdin.isatty():
        raise UsageError("who are you there? Give --login NAME")
    return input("login: ").strip()


def _code() -> str:
    """The second factor, from the environment or a prompt; empty if there is none.

    A hub does not tell beforehand which account needs one. Passkeys
    need a page of the hub, so a terminal cannot use them.
    """
    if code := os.environ.get(CODE_ENVIRONMENT):
        return code.strip()
    if not sys.stdin.isatty() or PASSWORD_ENVIRONMENT in os.environ:
        return ""  # a script, which has no one to type it
    return getpass.getpass(_CODE_PROMPT).strip()


def _password() -> str:
    """The password, from the environment, a prompt without echo, or the first line of stdin."""
    if password := os.environ.get(PASSWORD_ENVIRONMENT):
        return password
    if sys.stdin.isatty():
        password = getpass.getpass("password: ")
    else:
        password = sys.stdin.readline(_PASSWORD_SIZE_MAX).rstrip("\r\n")
    if not password:
        raise UsageError(f"no password; type it, pipe it, or set {PASSWORD_ENVIRONMENT}")
    return password
