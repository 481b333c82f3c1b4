"""Errors as HTTP answers: a status, a stable code and a sentence.

    {"status": 409, "code": "silent", "detail": "… last reported …", "last_seen": 1763280000.5}

Programs get it as JSON (`application/problem+json`), people as a page; `code` is stable.
"""

import logging
from collections.abc import Mapping

import msgspec
from litestar import Response
from litestar.exceptions import HTTPException

from rookery.errors import (
    CongestionError,
    DecodeError,
    DeniedError,
    LocalError,
    UnreachableError,
    UsageError,
)
from rookery.hub.errors import SilentDeviceError, UnknownDeviceError
from rookery.store.accounts.accounts import LoginTakenError
from rookery.web.http.request import AnyRequest


class NodeUnavailableError(UnreachableError):
    """The mesh node that the hub uses does not answer, or not as it should: 503."""


MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger(__name__)
_CODES = {
    400: "malformed",
    401: "anonymous",
    403: "denied",
    404: "unknown",
    405: "method",
    406: "not_acceptable",
    413: "too_large",
    415: "media_type",
    429: "too_many",
    503: "busy",
}


class ProblemDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of an error answer (`application/problem+json`)."""

    status: int
    code: str
    detail: str
    last_seen: float | None = None  # Unix time, of a silent device
    retry_after: int | None = None  # seconds


class RequestRefusedError(LocalError):
    """A request that is answered with a problem."""

    def __init__(
        self, status: int, code: str, detail: str, *, retry_after: int | None = None
    ) -> None:
        super().__init__(detail)
        self.problem = ProblemDetails(
            status=status, code=code, detail=detail, retry_after=retry_after
        )


class SignInRequiredError(RequestRefusedError):
    """The request has no valid session or token."""

    def __init__(self, detail: str = "sign in first") -> None:
        super().__init__(401, "anonymous", detail)


class TooManyRequestsError(RequestRefusedError):
    """A rate or concurrency limit was reached; carries `Retry-After`."""

    def __init__(self, retry_after: int, detail: str = "") -> None:
        text = detail or f"too many tries; wait {retry_after} s"
        super().__init__(429, "too_many", text, retry_after=retry_after)


def problem_of(error: Exception) -> ProblemDetails:
    """The answer for an error; unexpected ones reveal nothing of their cause."""
    match error:
        case RequestRefusedError():
            return error.problem
        case HTTPException():
            return _http_problem(error)
        case UnknownDeviceError():
            return ProblemDetails(status=404, code="unknown", detail=str(error))
        case SilentDeviceError():
            seen = error.last_seen
            return ProblemDetails(status=409, code="silent", detail=str(error), last_seen=seen)
        case RecursionError():  # a body of nothing but brackets
            return ProblemDetails(status=400, code="malformed", detail="this is nested too deeply")
        case LoginTakenError():
            return ProblemDetails(status=409, code="taken", detail=str(error))
        case UsageError() | DecodeError():
            return ProblemDetails(status=400, code="malformed", detail=str(error))
        case DeniedError():
            return ProblemDetails(status=403, code="denied", detail=str(error))
        case CongestionError():
            return ProblemDetails(status=503, code="busy", detail=str(error), retry_after=1)
        case NodeUnavailableError():
            return ProblemDetails(status=503, code="node_away", detail=str(error), retry_after=2)
        case UnreachableError():
            return ProblemDetails(status=503, code="store_away", detail=str(error), retry_after=2)
        case _:
            return ProblemDetails(
                status=500, code="broken", detail="this is our fault; it is in the log"
            )


def _http_problem(error: HTTPException) -> ProblemDetails:
    status = error.status_code
    if status >= 500:
        return ProblemDetails(
            status=status, code="broken", detail="this is our fault; it is in the log"
        )
    extra = error.extra if isinstance(error.extra, list) else []
    messages = [
        f"{one.get('key', 'body')}: {one.get('message', '')}"
        for one in extra
        if isinstance(one, Mapping)
    ]
    detail = "; ".join(messages) or error.detail.split(" for ")[0] or "refused"
    return ProblemDetails(status=status, code=_CODES.get(status, "refused"), detail=detail)


def logged_problem(request: AnyRequest, error: Exception) -> ProblemDetails:
    """The answer for an error; unexpected ones are logged."""
    problem = problem_of(error)
    if problem.status == 500:
        # The path without its query, which may hold a password by the seed's routes.
        _log.error("%s %s broke", request.method, request.scope["path"], exc_info=error)
    return problem


def problem_json(problem: ProblemDetails) -> Response[bytes]:
    """For programs."""
    return Response(
        msgspec.json.encode(problem),
        status_code=problem.status,
        media_type=MEDIA_TYPE,
        headers=problem_headers(problem),
    )


def problem_headers(problem: ProblemDetails) -> dict[str, str]:
    headers = {}
    if problem.retry_after is not None:
        headers["Retry-After"] = str(problem.retry_after)
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return headers
