"""Identifies the caller by session cookie or bearer token; access rules refuse, not this."""

from collections.abc import Callable

from litestar.connection import ASGIConnection
from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Receive, Scope, Send

from rookery.store.accounts.accounts import Account
from rookery.web.accounts.caller import Caller
from rookery.web.accounts.session_cookie import key_hash, session_key
from rookery.web.http.request import Connection
from rookery.web.http.same_origin import is_by_token
from rookery.web.site import WebSite

TOKEN_PREFIX = "rk_"  # noqa: S105 - so that people and scanners know what they found
_TOKEN_CHARACTERS = len(TOKEN_PREFIX) + 43
_TOUCH_S = 60.0  # a session's last use is written down this exactly, not with every request


class AuthenticationMiddleware(ASGIMiddleware):
    """Puts the caller, or None, into the request."""

    scopes = (ScopeType.HTTP,)

    def __init__(self, site: Callable[[], WebSite]) -> None:
        self._site = site

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        connection: Connection = ASGIConnection(scope)
        scope["user"] = await self._caller(connection)
        scope["auth"] = ""
        await next_app(scope, receive, send)

    async def _caller(self, connection: Connection) -> Caller | None:
        if is_by_token(connection):
            return await self._by_token(connection.headers["authorization"])
        is_https = self._site().settings.is_https or connection.scope["scheme"] == "https"
        key = session_key(connection, is_https=is_https)
        return None if key is None else await self._by_session(key_hash(key))

    async def _by_session(self, hashed: bytes) -> Caller | None:
        site = self._site()
        now = site.wall()
        session = await site.sessions.find(hashed, now)
        account = None if session is None else await site.accounts.get(session.account)
        if session is None or account is None:
            return None
        if abs(now - session.seen_at) > _TOUCH_S:
            until = session.created_at + site.settings.session_s
            until = min(until, now + site.settings.session_idle_s)
            await site.sessions.touch(hashed, now, until)
        return Caller(
            account=account.id,
            login=account.login,
            role=account.role,
            session=hashed,
            is_recent=0 <= now - session.proof_at < site.settings.proof_s,
            must_enrol=await must_enrol(site, account),
            language=account.language or "",
            theme=account.theme or "",
        )

    async def _by_token(self, header: str) -> Caller | None:
        kind, _, text = header.partition(" ")
        if kind.lower() != "bearer" or len(text) != _TOKEN_CHARACTERS:
            return None
        site = self._site()
        now = site.wall()
        token = await site.tokens.find(key_hash(text), now)
        account = None if token is None else await site.accounts.get(token.account)
        if token is None or account is None:
            return None
        if token.used_at is None or abs(now - token.used_at) > _TOUCH_S:
            await site.tokens.touch(token.id, now)
        return Caller(
            account=account.id,
            login=account.login,
            role=account.role,
            scopes=frozenset(token.scopes),
            token=token.id,
            token_hash=token.token_hash,
            must_enrol=await must_enrol(site, account),
        )


async def is_signed_in(site: WebSite, caller: Caller) -> bool:
    """Whether the session or token that a caller came with is still good, in the same role."""
    bearers = await site.credentials.bearers({caller.credential}, site.wall())
    return any(bearer.role == caller.role for bearer in bearers.values())


async def must_enrol(site: WebSite, account: Account) -> bool:
    """True if the hub requires a second factor and this account has none."""
    match site.settings.second_factor:
        case "none":
            return False
        case "admins" if account.role != "admin":
            return False
        case _:
            return not (await site.factors.count(account.id)).is_any
