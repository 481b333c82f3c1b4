"""The caller of a request: an account, by browser session or API token."""

from typing import Literal

import msgspec

Role = Literal["user", "operator", "admin"]
Scope = Literal["read", "connect", "write"]

RANKS: dict[str, int] = {"user": 0, "operator": 1, "admin": 2}
SCOPES: tuple[Scope, ...] = ("read", "connect", "write")


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """An account that proved itself."""

    account: int
    login: str
    role: Role
    scopes: frozenset[str] | None = None  # what its token may; None: a session, which may all
    session: bytes = b""  # the hash that the session is kept under
    token: int = 0
    token_hash: bytes = b""
    is_recent: bool = False  # whether its session was proved a short while ago
    must_enrol: bool = False  # a second factor: until then it may do nothing else
    language: str = ""  # chosen for the account; empty: as the browser prefers
    theme: str = ""

    @property
    def credential(self) -> bytes:
        """The hash of what it came with."""
        return self.session or self.token_hash

    def is_at_least(self, role: str) -> bool:
        return RANKS[self.role] >= RANKS[role]
