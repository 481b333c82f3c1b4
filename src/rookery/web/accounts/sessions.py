"""API of the caller's sessions: list them and end them."""

import msgspec
from litestar.params import FromPath

from rookery.web.accounts.access import may
from rookery.web.accounts.caller import Caller
from rookery.web.http.api_routes import delete, get
from rookery.web.http.dependencies import TheCaller, TheSite
from rookery.web.http.problems import RequestRefusedError
from rookery.web.http.request import AnyRequest
from rookery.web.http.request_origin import RequestOrigin, record_audit, request_origin
from rookery.web.site import WebSite

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
    return await my_sessions(site, caller)


async def my_sessions(site: WebSite, caller: Caller) -> list[SessionShown]:
    """All of the caller's account, the one used last first."""
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


@delete("/sessions", opt=may("user"), tags=["sessions"], status_code=204)
async def end_other_sessions(request: AnyRequest, caller: TheCaller, site: TheSite) -> None:
    """Sign out everywhere but here."""
    await end_others(site, caller, request_origin(request, site))


@delete("/sessions/{session:str}", opt=may("user"), tags=["sessions"], status_code=204)
async def end_session(
    request: AnyRequest, session: FromPath[str], caller: TheCaller, site: TheSite
) -> None:
    """Sign that browser out."""
    await end_one(site, caller, session, request_origin(request, site))


async def end_others(site: WebSite, caller: Caller, origin: RequestOrigin) -> None:
    """All of the account's sessions but the caller's."""
    for one in await site.sessions.of(caller.account, site.wall()):
        if one.key_hash != caller.session:
            await site.sessions.remove(one.key_hash)
    await record_audit(site, caller.login, "session.end", "all others", origin)


async def end_one(site: WebSite, caller: Caller, session: str, origin: RequestOrigin) -> None:
    """One of the account's sessions, by the id that it is shown with."""
    for one in await site.sessions.of(caller.account, site.wall()):
        if session_id(one.key_hash) == session:
            await site.sessions.remove(one.key_hash)
            await record_audit(site, caller.login, "session.end", session, origin)
            return
    raise RequestRefusedError(404, "unknown", "you have no such session")


def session_id(key_hash: bytes) -> str:
    """Names a session to its owner; the beginning of a hash opens nothing."""
    return key_hash[:_ID_BYTES].hex()


HANDLERS = (list_sessions, end_other_sessions, end_session)
