"""Who is meant by a name that somebody typed."""

from collections.abc import Iterable

from rookery.identity.hashname import PREFIX_MIN, meant
from rookery.runtime.control_lines import Code, End
from rookery.runtime.snapshot import Member, Reach

_SHOWN_MAX = 5


def matching(members: Iterable[Member], text: str) -> Member | End:
    """The one other member of that name, or whose hashname begins so."""
    others = [member for member in members if member.reach is not Reach.SELF]
    return _matching(others, text, "other member")


def among_all(members: Iterable[Member], text: str) -> Member | End:
    """The same where this node may be meant as well."""
    return _matching(list(members), text, "member")


def _matching(members: list[Member], text: str, what: str) -> Member | End:
    found = meant(text, members, lambda member: (member.node.name, member.node.hashname))
    if len(found) == 1:
        return found[0]
    if not found:
        known = _few(sorted(str(member.node) for member in members))
        more = ""
        if any(text and member.node.hashname.startswith(text) for member in members):
            more = f"; of a hashname, give {PREFIX_MIN} characters or more"
        return End(False, Code.UNKNOWN_NODE, f"no {what} is called {text!r}; known: {known}{more}")
    names = _few(sorted(member.node.hashname[:16] for member in found))
    return End(False, Code.AMBIGUOUS_NODE, f"{text!r} may be any of {names}; say more of it")


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN_MAX])
    more = len(names) - _SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown or "nobody yet"
