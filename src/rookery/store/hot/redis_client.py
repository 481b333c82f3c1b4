"""Redis client: a pool of connections that are made anew, and errors in our words."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import AuthenticationError, RedisError

from rookery.errors import UnreachableError, UsageError

PASSWORD_VARIABLE = "ROOKERY_REDIS_PASSWORD"  # noqa: S105 - where it is, not what
CONNECTIONS_MAX = 32
ANSWER_S = 2.0
RETRIES = 4  # with pauses of up to half a second

Argument = bytes | str | int


class Script(Protocol):
    """A script that is loaded into Redis when it is missing there."""

    async def __call__(self, keys: Sequence[bytes], args: Sequence[Argument] = ()) -> object: ...


def redis_client(url: str, environment: Mapping[str, str]) -> Redis:
    """A client that is not connected yet; UsageError, without the URL, if that is not valid."""
    try:
        if urlsplit(url).scheme not in ("redis", "rediss", "unix"):
            raise ValueError
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS_MAX,
            timeout=ANSWER_S,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            health_check_interval=15,
            retry=Retry(ExponentialWithJitterBackoff(cap=0.5, base=0.02), RETRIES),
        )
    except ValueError:
        text = "Redis is redis://HOST:PORT/NUMBER, rediss://… with TLS, or unix:///SOCKET"
        raise UsageError(text) from None
    password = environment.get(PASSWORD_VARIABLE)
    if password and not pool.connection_kwargs.get("password"):
        pool.connection_kwargs["password"] = password
    return Redis.from_pool(pool)


@contextmanager
def reachable() -> Iterator[None]:
    """What goes wrong inside is Redis being away, full or not ours."""
    try:
        yield
    except AuthenticationError:
        raise UnreachableError("Redis refuses our name or password") from None
    except (RedisError, OSError) as error:
        what = f"{type(error).__name__}: {error}"[:200]
        raise UnreachableError(f"Redis does not answer: {what}") from error
