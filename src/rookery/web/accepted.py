"""Which of the kinds that we offer a client would rather have."""

from rookery.web.connection import AnyRequest


def preferred(request: AnyRequest, offered: list[str]) -> str:
    """One of them by `Accept`; the first where the header says nothing that we understand."""
    try:
        return request.accept.best_match(offered, default=offered[0])
    except (ValueError, OverflowError):  # a weight that is no number, or an endless one
        return offered[0]
