"""Who may open which channels: a policy of the endpoint's owner, asked about each."""

from collections.abc import Callable

ChannelPolicy = Callable[[str, str], bool]  # (hashname, channel type) -> may it open one


def open_to_links(hashname: str, channel_type: str) -> bool:
    """The usual policy: what is served is served to whoever has a link."""
    return True
