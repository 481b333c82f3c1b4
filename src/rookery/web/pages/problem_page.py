"""Problems as pages: what happened, and the way back."""

from litestar import Response
from litestar.exceptions import HTTPException
from litestar.response import Redirect
from litestar.types import ExceptionHandlersMap

from rookery.web.connection import AnyRequest
from rookery.web.pages.page import page, wants_page
from rookery.web.problems import Problem, logged_problem, problem_headers, problem_json

_API = "/api/"


def answer_problem(
    request: AnyRequest, error: Exception
) -> Response[bytes] | Response[str] | Redirect:
    """A page for people, JSON for programs; who has to sign in is led there."""
    problem = logged_problem(request, error)
    if request.scope["path"].startswith(_API) or not wants_page(request):
        return problem_json(problem)
    if problem.code == "anonymous":
        return Redirect("/auth", status_code=303)
    return problem_page(request, problem)


def problem_page(request: AnyRequest, problem: Problem) -> Response[str]:
    answer = page(request, "problem.html", {"problem": problem}, problem.status)
    answer.headers.update(problem_headers(problem))
    return answer


HANDLERS: ExceptionHandlersMap = {Exception: answer_problem, HTTPException: answer_problem}
