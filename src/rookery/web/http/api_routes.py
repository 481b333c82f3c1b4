"""Routes of the API: Litestar's, with what they answer when they refuse."""

from functools import partial

import litestar
from litestar.openapi import ResponseSpec

from rookery.web.http.problems import MEDIA_TYPE, ProblemDetails

_TEXTS = {
    400: "The request is not what it should be.",
    401: "Nobody is signed in.",
    403: "Not for this role, scope or owner, or from another site.",
    404: "There is no such thing.",
    409: "Not as things are now.",
    429: "Too many; see Retry-After.",
    503: "A store does not answer; see Retry-After.",
}
PROBLEMS = {
    status: ResponseSpec(
        ProblemDetails, description=text, media_type=MEDIA_TYPE, generate_examples=False
    )
    for status, text in _TEXTS.items()
}

get = partial(litestar.get, responses=PROBLEMS)
post = partial(litestar.post, responses=PROBLEMS)
put = partial(litestar.put, responses=PROBLEMS)
patch = partial(litestar.patch, responses=PROBLEMS)
delete = partial(litestar.delete, responses=PROBLEMS)
