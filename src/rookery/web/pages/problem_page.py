"""Errors as pages or as JSON; redirects to sign-in and to proof."""

from litestar import Response
from litestar.exceptions import HTTPException
from litestar.response import Redirect
from litestar.types import ExceptionHandlersMap

from rookery.web.http.problems import ProblemDetails, logged_problem, problem_headers, problem_json
from rookery.web.http.request import AnyRequest
from rookery.web.pages.rendering import page, wants_page

_API = "/api/"


def answer_problem(
    request: AnyRequest, error: Exception
) -> Response[bytes] | Response[str] | Redirect:
    """A page, or a redirect to sign-in or proof, for browsers; JSON for programs."""
    problem = logged_problem(request, error)
    if request.scope["path"].startswith(_API) or not wants_page(request):
        return problem_json(problem)
    if (location := _redirect_location(request, problem)) is not None:
        return Redirect(location, status_code=303)
    return problem_page(request, problem)


def _redirect_location(request: AnyRequest, problem: ProblemDetails) -> str | None:
    """Where to sign in, prove the session or set up a factor; None: show the error."""
    match problem.code:
        case "anonymous":
            return "/auth"
        case "second_factor":
            return "/account/factors"
        case "proof":
            path = request.scope["path"]
            is_factors = path.startswith("/account/factors")
            return "/account/proof" + ("?back=/account/factors" if is_factors else "")
        case _:
            return None


def problem_page(request: AnyRequest, problem: ProblemDetails) -> Response[str]:
    answer = page(request, "problem.html", {"problem": problem}, problem.status)
    answer.headers.update(problem_headers(problem))
    return answer


EXCEPTION_HANDLERS: ExceptionHandlersMap = {
    Exception: answer_problem,
    HTTPException: answer_problem,
}
