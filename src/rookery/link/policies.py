"""What peers may do: policies of the endpoint's owner, asked about each of them."""

from collections.abc import Callable

ChannelPolicy = Callable[[str, str], bool]  # (hashname, channel type) -> may it open one
TrustPolicy = Callable[[str], bool]  # hashname -> is it told our addresses, and believed its own


def open_to_links(hashname: str, channel_type: str) -> bool:
    """The usual policy: what is served is served to whoever has a link."""
    return True


def trust_links(hashname: str) -> bool:
    """The usual policy: whoever has a link was accepted before."""
    return True
