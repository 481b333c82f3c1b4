"""Adding a device: a code with a command and a QR code of it, or the code that a device shows."""

import segno
from litestar import Response, get, post
from litestar.response import Redirect
from markupsafe import Markup

from rookery.errors import RookeryError
from rookery.web.accounts.access import may
from rookery.web.devices import ownership
from rookery.web.devices.enrolment_codes import NewEnrolmentCode, make_code
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import problem_headers, problem_of
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import request_origin
from rookery.web.pages.forms import form_fields
from rookery.web.pages.rendering import page, wants_page
from rookery.wire.fleet.mac import mac_text, parse_mac

_CLI = "rookery devices add"
_REFUSED = (403, 404, 409, 429, 400)


def qr_code(text: str) -> Markup:
    """As SVG that needs neither style nor script; colours are the page's."""
    drawn = segno.make(text, error="l", micro=False).svg_inline(
        border=2, omitsize=True, svgclass="qr", lineclass="qr-line", unit="", draw_transparent=False
    )
    return Markup(drawn)  # noqa: S704 - nothing but numbers of our own


@get("/add", opt=may("user"), include_in_schema=False)
async def add_page(request: AnyRequest) -> Response[str]:
    return _add_page(request)


@post("/add", opt=may("user"), include_in_schema=False, status_code=200)
async def add_device(request: AnyRequest, caller: TheCaller, site: TheSite) -> Response[str]:
    """Show a new code, this once."""
    now = site.wall()
    made = await make_code(site, caller, "router", request_origin(request, site))
    return _add_page(request, made, made_at=now)


@post("/claim", opt=may("user"), include_in_schema=False)
async def claim_device(
    request: AnyRequest, caller: TheCaller, site: TheSite
) -> Response[str] | Redirect:
    fields = await form_fields(request)
    try:
        mac, name = parse_mac(fields.text("mac")), fields.optional("name")
        await ownership.claim(
            site, caller, mac, fields.text("code"), name, request_origin(request, site)
        )
    except RookeryError as error:
        problem = problem_of(error)
        if problem.status not in _REFUSED or not wants_page(request):
            raise
        typed = {"mac": fields.optional("mac"), "name": fields.optional("name")}
        answer = _add_page(request, problem=problem.detail, typed=typed, status=problem.status)
        answer.headers.update(problem_headers(problem))
        return answer
    return Redirect(f"/devices/{mac_text(mac)}", status_code=303)


def _add_page(
    request: AnyRequest,
    made: NewEnrolmentCode | None = None,
    *,
    made_at: float = 0.0,
    problem: str = "",
    typed: dict[str, str] | None = None,
    status: int = 200,
) -> Response[str]:
    values = {
        "made": made,
        "made_at": made_at,
        "qr": None if made is None else qr_code(made.command),
        "problem": problem,
        "typed": typed or {"mac": "", "name": ""},
    }
    return page(
        request, "add.html", values, status, cli=_CLI, json="/api/v1/codes", section="devices"
    )


HANDLERS = (add_page, add_device, claim_device)
