"""Credentials: which account stands behind a session or an API token now, and as what.

Asked for by their hashes and not by the numbers of rows, as a database may give the number of a row
that was removed to the next one.
"""

from collections.abc import Collection

from sqlalchemy import Select, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.fleet.rendezvous.seat_authority import CredentialBearer
from rookery.store.database.database import Database
from rookery.store.database.tables import account, api_token, web_session

_BATCH_MAX = 500  # databases bound how many values a statement has


class AccountCredentials:
    """Sessions and tokens alike."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def bearers(self, hashes: Collection[bytes], now: float) -> dict[bytes, CredentialBearer]:
        """Of those that are good: not ended, not expired, their account there."""
        wanted = sorted(hashes)
        portions = [wanted[at : at + _BATCH_MAX] for at in range(0, len(wanted), _BATCH_MAX)]

        async def work(connection: AsyncConnection) -> dict[bytes, CredentialBearer]:
            found: dict[bytes, CredentialBearer] = {}
            for portion in portions:
                for query in _queries(portion, now):
                    for hashed, number, role in await connection.execute(query):
                        found[bytes(hashed)] = CredentialBearer(int(number), str(role))
            return found

        return await self._database.read(work) if portions else {}


def _queries(portion: list[bytes], now: float) -> tuple[Select[bytes, int, str], ...]:
    sessions = (
        select(web_session.c.key_hash, account.c.id, account.c.role)
        .join(account, account.c.id == web_session.c.account)
        .where(web_session.c.key_hash.in_(portion), web_session.c.expires_at > now)
    )
    is_fresh = or_(api_token.c.expires_at.is_(None), api_token.c.expires_at > now)
    tokens = (
        select(api_token.c.token_hash, account.c.id, account.c.role)
        .join(account, account.c.id == api_token.c.account)
        .where(api_token.c.token_hash.in_(portion), is_fresh)
    )
    return sessions, tokens
