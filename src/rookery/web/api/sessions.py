"""One's own sessions: where one is signed in, and ending that."""

import msgspec
from litestar.params import FromPath

from rookery.web.access import may
from rookery.web.api.route import delete, get
from rookery.web.connection import AnyRequest
from rookery.web.given import TheCaller, TheSite
from rookery.web.problems import RefusedError
from rookery.web.visits import note, visit

_ID_BYTES = 8


class SessionShown(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is signed in."""

    id: str
    created_at: float
    seen_at: float
    expires_at: float
    address: str
    browser: str
    is_this: bool  # the one that asks


@get("/sessions", opt=may("user"), tags=["sessions"], summary="Where I am signed in")
async def list_sessions(caller: TheCaller, site: TheSite) -> list[SessionShown]:
    return [
        SessionShown(
            id=session_id(session.key_hash),
            created_at=session.created_at,
            seen_at=session.seen_at,
            expires_at=session.expires_at,
            address=session.address,
            browser=session.browser,
            is_this=session.key_hash == caller.session,
        )
        for session in await site.sessions.of(caller.account, site.wall())
    ]


@delete("/sessions/{session:str}", opt=may("user"), tags=["sessions"], status_code=204)
async def end_session(
    request: AnyRequest, session: FromPath[str], caller: TheCaller, site: TheSite
) -> None:
    """Sign that browser out."""
    for one in await site.sessions.of(caller.account, site.wall()):
        if session_id(one.key_hash) == session:
            await site.sessions.remove(one.key_hash)
            await note(site, caller.login, "session.end", session, visit(request, site))
            return
    raise RefusedError(404, "unknown", "you have no such session")


def session_id(key_hash: bytes) -> str:
    """Names a session to its owner; the beginning of a hash opens nothing."""
    return key_hash[:_ID_BYTES].hex()


HANDLERS = (list_sessions, end_session)
