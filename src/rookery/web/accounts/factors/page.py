"""Pages of the caller's second factors, and of proving the session again."""

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Redirect

from rookery.errors import UsageError
from rookery.web.accounts.access import may_enrolling, may_enrolling_after_proof
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.factors.enrolment import (
    TotpProposal,
    confirm_totp,
    propose_totp,
    proposed_totp,
    remove_passkey,
    remove_totp,
    renew_recovery_codes,
)
from rookery.web.accounts.factors.relying_party import issuer
from rookery.web.accounts.page import local_path
from rookery.web.accounts.sign_in import SignInSecrets, prove_again
from rookery.web.devices.add_page import qr_code
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError, problem_headers, problem_of
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.pages.forms import form_fields
from rookery.web.pages.rendering import page
from rookery.web.site import WebSite

_HERE = "/account/factors"
_PROOF = "/account/proof"


class FactorFormResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a form, shown on the page again."""

    problem: str = ""
    proposed: TotpProposal | None = None
    codes: list[str] = []

    def __repr__(self) -> str:
        return f"FactorFormResult({self.problem!r})"


@get(_HERE, opt=may_enrolling(), include_in_schema=False)
async def factors_page(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str]:
    return await _shown(request, site, caller, FactorFormResult())


@post(f"{_HERE}/totp", opt=may_enrolling_after_proof(), include_in_schema=False, status_code=200)
async def begin_totp(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str]:
    """Shows a new secret."""
    proposed = await propose_totp(site, caller, issuer(request, site))
    return await _shown(request, site, caller, FactorFormResult(proposed=proposed))


@post(
    f"{_HERE}/totp/confirm",
    opt=may_enrolling_after_proof(),
    include_in_schema=False,
    status_code=200,
)
async def finish_totp(
    request: AnyRequest, caller: TheCaller, site: TheSite
) -> Response[str] | Redirect:
    """Shows recovery codes if it is the first factor; the secret once more if the code is wrong."""
    fields = await form_fields(request)
    try:
        codes = await confirm_totp(site, caller, fields.text("code"), request_origin(request, site))
    except (RequestRefusedError, UsageError) as error:
        problem = problem_of(error)
        proposed = await proposed_totp(site, caller, issuer(request, site))
        said = FactorFormResult(problem=problem.detail, proposed=proposed)
        answer = await _shown(request, site, caller, said, problem.status)
        answer.headers.update(problem_headers(problem))
        return answer
    if not codes:
        return Redirect(_HERE, status_code=303)
    return await _shown(request, site, caller, FactorFormResult(codes=codes))


@post(f"{_HERE}/totp/remove", opt=may_enrolling_after_proof(), include_in_schema=False)
async def end_totp(request: AnyRequest, caller: TheCaller, site: TheSite) -> Redirect:
    await remove_totp(site, caller, request_origin(request, site))
    return Redirect(_HERE, status_code=303)


@post(
    f"{_HERE}/passkeys/{{passkey:int}}/remove",
    opt=may_enrolling_after_proof(),
    include_in_schema=False,
)
async def end_passkey(
    request: AnyRequest, passkey: FromPath[int], caller: TheCaller, site: TheSite
) -> Redirect:
    await remove_passkey(site, caller, passkey, request_origin(request, site))
    return Redirect(_HERE, status_code=303)


@post(
    f"{_HERE}/recovery", opt=may_enrolling_after_proof(), include_in_schema=False, status_code=200
)
async def new_codes(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str]:
    """Shows ten new ones, this once."""
    codes = await renew_recovery_codes(site, caller, request_origin(request, site))
    return await _shown(request, site, caller, FactorFormResult(codes=codes))


@get(_PROOF, opt=may_enrolling(), include_in_schema=False)
async def proof_page(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str]:
    """`?back=` is where it leads afterwards."""
    return await _proof(request, site, caller, _target(request.query_params.get("back", "")))


@post(_PROOF, opt=may_enrolling(), include_in_schema=False, status_code=200)
async def prove(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str] | Redirect:
    fields = await form_fields(request)
    target = _target(fields.optional("back"))
    try:
        secrets = SignInSecrets(fields.text("password"), fields.optional("code"))
        await prove_again(site, caller, secrets, request_origin(request, site))
    except (RequestRefusedError, UsageError) as error:
        problem = problem_of(error)
        answer = await _proof(request, site, caller, target, problem.detail, problem.status)
        answer.headers.update(problem_headers(problem))
        return answer
    return Redirect(target, status_code=303)


def _target(back: str) -> str:
    return local_path(back) if back else "/account"


async def _proof(
    request: AnyRequest,
    site: WebSite,
    caller: Caller,
    target: str,
    problem: str = "",
    status: int = 200,
) -> Response[str]:
    counted = await site.factors.count(caller.account)
    values = {
        "target": target,
        "problem": problem,
        "has_factor": counted.is_any,
        "has_passkey": counted.passkeys > 0,
    }
    return page(request, "proof.html", values, status)


async def _shown(
    request: AnyRequest, site: WebSite, caller: Caller, said: FactorFormResult, status: int = 200
) -> Response[str]:
    counted = await site.factors.count(caller.account)
    values = {
        "said": said,
        "qr": None if said.proposed is None else qr_code(said.proposed.uri),
        "has_totp": counted.has_totp,
        "passkeys": await site.passkeys.of(caller.account),
        "recovery_codes": counted.recovery_codes,
    }
    return page(request, "factors.html", values, status, json="/api/v1/me/factors")


HANDLERS = (
    factors_page,
    begin_totp,
    finish_totp,
    end_totp,
    end_passkey,
    new_codes,
    proof_page,
    prove,
)
