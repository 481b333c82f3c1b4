"""Policies of the endpoint's owner about what each peer may do."""

from collections.abc import Callable

ChannelPolicy = Callable[[str, str], bool]  # (hashname, channel type) -> may it open one
TrustPolicy = Callable[[str], bool]  # hashname -> exchange addresses with it


def open_to_links(hashname: str, channel_type: str) -> bool:
    """The default policy: channels are served to every peer with a link."""
    return True


def trust_links(hashname: str) -> bool:
    """The default policy: a peer with a link was accepted before."""
    return True
