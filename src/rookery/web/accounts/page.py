"""The account page: password, sessions, tokens, language, theme."""

import msgspec
from litestar import Response, get, post
from litestar.params import FromPath
from litestar.response import Redirect

from rookery.errors import UsageError
from rookery.web.accounts.access import anyone, may, may_after_proof
from rookery.web.accounts.caller import SCOPES, Caller
from rookery.web.accounts.preferences import THEMES, choice_cookie
from rookery.web.accounts.sessions import end_one, end_others, my_sessions
from rookery.web.accounts.sign_in import change_password
from rookery.web.accounts.tokens import ApiTokenRequest, NewApiToken, made_token, my_tokens, revoke
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError, problem_headers, problem_of
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.pages.forms import FormFields, form_fields
from rookery.web.pages.rendering import page
from rookery.web.site import WebSite
from rookery.web.words.translation import LANGUAGES

_HERE = "/account"
_DAYS = {"30": 30, "365": 365, "never": None}


class AccountFormResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one of the forms, shown on the page again."""

    form: str = ""
    problem: str = ""
    token: NewApiToken | None = None


@get(_HERE, opt=may("user"), include_in_schema=False)
async def account_page(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str]:
    """All of it; `?done=` names the form that was just filled in."""
    return await _shown(
        request, site, caller, AccountFormResult(form=request.query_params.get("done", ""))
    )


@post(f"{_HERE}/password", opt=may("user"), include_in_schema=False, status_code=200)
async def new_password(
    request: AnyRequest, caller: TheCaller, site: TheSite
) -> Response[str] | Redirect:
    """Ends every other session as well."""
    fields = await form_fields(request)
    try:
        old, new = fields.text("old"), fields.text("new")
        await change_password(site, caller, old, new, request_origin(request, site))
    except (RequestRefusedError, UsageError) as error:
        return await _again(request, site, caller, "password", error)
    return Redirect(f"{_HERE}?done=password", status_code=303)


@post(f"{_HERE}/sessions/end", opt=may("user"), include_in_schema=False)
async def end_sessions(request: AnyRequest, caller: TheCaller, site: TheSite) -> Redirect:
    """All but this one."""
    await end_others(site, caller, request_origin(request, site))
    return Redirect(_HERE, status_code=303)


@post(f"{_HERE}/sessions/{{session:str}}/end", opt=may("user"), include_in_schema=False)
async def end_session(
    request: AnyRequest, session: FromPath[str], caller: TheCaller, site: TheSite
) -> Redirect:
    await end_one(site, caller, session, request_origin(request, site))
    return Redirect(_HERE, status_code=303)


@post(f"{_HERE}/tokens", opt=may_after_proof("user"), include_in_schema=False, status_code=200)
async def make_token(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str]:
    """Shows the token, this once."""
    fields = await form_fields(request)
    try:
        made = await made_token(site, caller, _wanted(fields), request_origin(request, site))
    except (RequestRefusedError, UsageError) as error:
        return await _again(request, site, caller, "token", error)
    return await _shown(request, site, caller, AccountFormResult(form="token", token=made))


@post(f"{_HERE}/tokens/{{token:int}}/revoke", opt=may("user"), include_in_schema=False)
async def revoke_token(
    request: AnyRequest, token: FromPath[int], caller: TheCaller, site: TheSite
) -> Redirect:
    await revoke(site, caller, token, request_origin(request, site))
    return Redirect(_HERE, status_code=303)


@post("/preferences", opt=anyone(), include_in_schema=False)
async def choose(request: AnyRequest, site: TheSite) -> Redirect:
    """Set language or theme: in this browser, and in the account if signed in."""
    fields, caller = await form_fields(request), request.user
    is_https = request_origin(request, site).is_https
    language = _known(fields.optional("language"), LANGUAGES)
    theme = _known(fields.optional("theme"), THEMES)
    cookies = []
    if fields.optional("language"):
        cookies.append(choice_cookie("language", language, is_https=is_https))
    if fields.optional("theme"):
        cookies.append(choice_cookie("theme", theme, is_https=is_https))
    if caller is not None:
        kept_language = language if fields.optional("language") else caller.language
        kept_theme = theme if fields.optional("theme") else caller.theme
        await site.accounts.prefer(caller.account, kept_language or None, kept_theme or None)
    return Redirect(local_path(fields.optional("back")), status_code=303, cookies=cookies)


def _known(value: str, known: tuple[str, ...]) -> str:
    return value if value in known else ""


def local_path(path: str) -> str:
    """The path if it is one of this site's, else `/`: no redirects to other sites."""
    is_ours = path.startswith("/") and path[1:2] not in ("/", "\\") and path.isprintable()
    return path if is_ours else "/"


def _wanted(fields: FormFields) -> ApiTokenRequest:
    days = fields.optional("days") or "365"
    if days not in _DAYS:
        raise UsageError("a token lasts 30 or 365 days, or until it is revoked")
    scopes = [scope for scope in SCOPES if fields.optional(f"scope_{scope}")]
    if not scopes:
        raise UsageError("choose what the token may do")
    return ApiTokenRequest(name=fields.text("name"), scopes=scopes, days=_DAYS[days])


async def _again(
    request: AnyRequest,
    site: WebSite,
    caller: Caller,
    form: str,
    error: RequestRefusedError | UsageError,
) -> Response[str]:
    problem = problem_of(error)
    said = AccountFormResult(form=form, problem=problem.detail)
    answer = await _shown(request, site, caller, said, problem.status)
    answer.headers.update(problem_headers(problem))
    return answer


async def _shown(
    request: AnyRequest, site: WebSite, caller: Caller, said: AccountFormResult, status: int = 200
) -> Response[str]:
    values = {
        "said": said,
        "sessions": await my_sessions(site, caller),
        "tokens": await my_tokens(site, caller),
        "scopes": SCOPES,
        "has_factor": (await site.factors.count(caller.account)).is_any,
    }
    cli = "rookery login"
    return page(request, "account.html", values, status, cli=cli, json="/api/v1/me")


HANDLERS = (
    account_page,
    new_password,
    end_sessions,
    end_session,
    make_token,
    revoke_token,
    choose,
)
