"""API of the caller's second factors, and of sign-in and proof by passkey."""

import secrets
from typing import Annotated

import msgspec
from litestar import Response
from litestar.datastructures import Cookie
from litestar.params import FromPath, JSONBody

from rookery.web.accounts.access import anyone, may_enrolling, may_enrolling_after_proof
from rookery.web.accounts.api import Code, OwnAccount
from rookery.web.accounts.factors.enrolment import (
    TotpProposal,
    confirm_totp,
    propose_totp,
    remove_passkey,
    remove_totp,
    renew_recovery_codes,
)
from rookery.web.accounts.factors.passkey_answers import (
    PasskeyAuthentication,
    PasskeyChallenge,
    PasskeyRegistration,
    PasskeyShown,
    add_passkey,
    shown,
)
from rookery.web.accounts.factors.passkey_options import (
    CreationOptions,
    RequestOptions,
    creation_options,
    request_options,
)
from rookery.web.accounts.factors.relying_party import issuer, party
from rookery.web.accounts.names import NAME_LENGTH_MAX
from rookery.web.accounts.session_cookie import key_hash, session_cookie
from rookery.web.accounts.sign_in import prove_by_passkey, sign_in_by_passkey
from rookery.web.http.api_routes import delete, get, post
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.site import WebSite

_TAGS = ["factors"]
_HERE = "/me/factors"
_SIGN_IN = "/session/passkey"
_COOKIE = "rookery_sign_in"
_COOKIE_PATH = "/api/v1/session/passkey"
_COOKIE_S = 600
_COOKIE_CHARACTERS = 43


class FactorsShown(msgspec.Struct, frozen=True, kw_only=True):
    """The second factors of an account."""

    totp: bool
    passkeys: list[PasskeyShown]
    recovery_codes: int  # that were not used yet
    is_required: bool  # and missing: until there is one, nothing else is allowed


class TotpCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the app shows now."""

    code: Code

    def __repr__(self) -> str:
        return "TotpCode()"


class RecoveryCodes(msgspec.Struct, frozen=True):
    """Shown this once; empty where there were some already."""

    recovery_codes: list[str]

    def __repr__(self) -> str:
        return "RecoveryCodes()"


class PasskeyRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new passkey and its name."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_LENGTH_MAX)]
    credential: PasskeyRegistration


class NewPasskey(msgspec.Struct, frozen=True):
    """And recovery codes, if it is the first factor."""

    passkey: PasskeyShown
    recovery_codes: list[str]

    def __repr__(self) -> str:
        return f"NewPasskey({self.passkey.id})"


class PasskeyAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the browser's authenticator answered."""

    credential: PasskeyAuthentication


@get(_HERE, opt=may_enrolling(), tags=_TAGS, summary="My second factors")
async def list_factors(caller: TheCaller, site: TheSite) -> FactorsShown:
    counted = await site.factors.count(caller.account)
    return FactorsShown(
        totp=counted.has_totp,
        passkeys=[shown(one) for one in await site.passkeys.of(caller.account)],
        recovery_codes=counted.recovery_codes,
        is_required=caller.must_enrol,
    )


@post(f"{_HERE}/totp", opt=may_enrolling_after_proof(), tags=_TAGS, summary="Begin with an app")
async def begin_totp(request: AnyRequest, caller: TheCaller, site: TheSite) -> TotpProposal:
    """A secret for an authenticator app; it counts for nothing until its first code comes."""
    return await propose_totp(site, caller, issuer(request, site))


@post(f"{_HERE}/totp/confirm", opt=may_enrolling_after_proof(), tags=_TAGS)
async def finish_totp(
    request: AnyRequest, data: JSONBody[TotpCode], caller: TheCaller, site: TheSite
) -> RecoveryCodes:
    """The app's first code; from now on signing in takes one."""
    return RecoveryCodes(await confirm_totp(site, caller, data.code, request_origin(request, site)))


@delete(f"{_HERE}/totp", opt=may_enrolling_after_proof(), tags=_TAGS, status_code=204)
async def end_totp(request: AnyRequest, caller: TheCaller, site: TheSite) -> None:
    """Codes of the app are worth nothing from now on."""
    await remove_totp(site, caller, request_origin(request, site))


@post(f"{_HERE}/recovery-codes", opt=may_enrolling_after_proof(), tags=_TAGS)
async def new_recovery_codes(
    request: AnyRequest, caller: TheCaller, site: TheSite
) -> RecoveryCodes:
    """Ten new ones, each for one use; those of before are worth nothing."""
    return RecoveryCodes(await renew_recovery_codes(site, caller, request_origin(request, site)))


@post(f"{_HERE}/passkeys/options", opt=may_enrolling_after_proof(), tags=_TAGS)
async def begin_passkey(request: AnyRequest, caller: TheCaller, site: TheSite) -> CreationOptions:
    """For `navigator.credentials.create`."""
    relying_party = party(request, site)
    return await creation_options(site, relying_party, caller.account, caller.login, caller.session)


@post(f"{_HERE}/passkeys", opt=may_enrolling_after_proof(), tags=_TAGS)
async def finish_passkey(
    request: AnyRequest, data: JSONBody[PasskeyRequest], caller: TheCaller, site: TheSite
) -> NewPasskey:
    """Register the browser's credential; from now on a password alone is not enough."""
    relying_party, origin = party(request, site), request_origin(request, site)
    made = await add_passkey(site, relying_party, caller, data.name, data.credential, origin)
    return NewPasskey(*made)


@delete(
    f"{_HERE}/passkeys/{{passkey:int}}",
    opt=may_enrolling_after_proof(),
    tags=_TAGS,
    status_code=204,
)
async def end_passkey(
    request: AnyRequest, passkey: FromPath[int], caller: TheCaller, site: TheSite
) -> None:
    """It is no longer accepted for sign-in."""
    await remove_passkey(site, caller, passkey, request_origin(request, site))


@post(f"{_SIGN_IN}/options", opt=anyone(), tags=_TAGS)
async def begin_sign_in(request: AnyRequest, site: TheSite) -> Response[RequestOptions]:
    """For `navigator.credentials.get`; the cookie ties the answer to this browser."""
    relying_party, key = party(request, site), _browser_key(request) or secrets.token_urlsafe(32)
    options = await request_options(site, relying_party, "sign in", key_hash(key), [])
    return Response(options, cookies=[_browser_cookie(key, _COOKIE_S, request, site)])


@post(_SIGN_IN, opt=anyone(), tags=_TAGS, summary="Sign in with a passkey")
async def finish_sign_in(
    request: AnyRequest, data: JSONBody[PasskeyAnswer], site: TheSite
) -> Response[OwnAccount]:
    """The session's cookie comes with the answer, as with a password."""
    origin, binding = request_origin(request, site), key_hash(_browser_key(request))
    challenge = PasskeyChallenge(party=party(request, site), purpose="sign in", binding=binding)
    account, key = await sign_in_by_passkey(site, challenge, data.credential, origin, request.user)
    cookie = session_cookie(key, site.settings.session_s, is_https=origin.is_https)
    gone = _browser_cookie("", 0, request, site)
    return Response(OwnAccount(login=account.login, role=account.role), cookies=[cookie, gone])


@post("/session/proof/passkey/options", opt=may_enrolling(), tags=_TAGS)
async def begin_proof(request: AnyRequest, caller: TheCaller, site: TheSite) -> RequestOptions:
    """For `navigator.credentials.get`, by a passkey of the account."""
    known = await site.passkeys.of(caller.account)
    return await request_options(site, party(request, site), "prove", caller.session, known)


@post("/session/proof/passkey", opt=may_enrolling(), tags=_TAGS, status_code=204)
async def finish_proof(
    request: AnyRequest, data: JSONBody[PasskeyAnswer], caller: TheCaller, site: TheSite
) -> None:
    """As good as the password and a code, and as long."""
    relying_party = party(request, site)
    challenge = PasskeyChallenge(
        party=relying_party, purpose="prove", binding=caller.session, owner=caller.account
    )
    await prove_by_passkey(site, challenge, caller, data.credential, request_origin(request, site))


def _browser_key(request: AnyRequest) -> str:
    key = request.cookies.get(_COOKIE, "")
    return key if len(key) == _COOKIE_CHARACTERS else ""


def _browser_cookie(key: str, seconds: int, request: AnyRequest, site: WebSite) -> Cookie:
    return Cookie(
        key=_COOKIE,
        value=key,
        path=_COOKIE_PATH,
        httponly=True,
        samesite="strict",
        secure=request_origin(request, site).is_https,
        max_age=seconds,
    )


HANDLERS = (
    list_factors,
    begin_totp,
    finish_totp,
    end_totp,
    new_recovery_codes,
    begin_passkey,
    finish_passkey,
    end_passkey,
    begin_sign_in,
    finish_sign_in,
    begin_proof,
    finish_proof,
)
