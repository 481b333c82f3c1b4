"""The node beside the hub does not answer, or not as it should."""

from rookery.errors import UnreachableError


class NodeAwayError(UnreachableError):
    """Told as 503: whoever asks may come again."""
