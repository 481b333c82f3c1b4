"""Extras: packages that a verb needs beyond those of a device, looked for before it begins.

rookery            nodes, agents, servers and clients
rookery[hub]       a hub: database, HTTP, pages
rookery[lake]      a lake: tables, SQL, Spark and a Java for it
rookery[connect]   the same over Spark Connect
rookery[all]       these, and the oldest cipher set
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal

from rookery.errors import UsageError

Extra = Literal["hub", "lake", "connect", "all"]

# Packages by the names that pip knows, with the modules that they bring.
HUB = {
    "aiosqlite": "aiosqlite",
    "alembic": "alembic",
    "argon2-cffi": "argon2",
    "asyncmy": "asyncmy",
    "greenlet": "greenlet",
    "jinja2": "jinja2",
    "limits": "limits",
    "litestar": "litestar",
    "markupsafe": "markupsafe",
    "redis": "redis",
    "sqlalchemy": "sqlalchemy",
    "uvicorn": "uvicorn",
}
TABLES = {"deltalake": "deltalake", "duckdb": "duckdb", "pyarrow": "pyarrow"}
PIPELINE = {
    **TABLES,
    "numpy": "numpy",
    "pandas": "pandas",
    "py4j": "py4j",
    "pyspark": "pyspark",
    "rustworkx": "rustworkx",
}
CONNECT = {
    **PIPELINE,
    "googleapis-common-protos": "google.rpc",
    "grpcio": "grpc",
    "grpcio-status": "grpc_status",
    "zstandard": "zstandard",
}

_SHOWN_MAX = 3


def need(purpose: str, packages: Mapping[str, str], extra: Extra) -> None:
    """UsageError with the command that installs them, when some of the packages are missing."""
    missing = [name for name, module in packages.items() if not _is_there(module)]
    if missing:
        more = ", …" if len(missing) > _SHOWN_MAX else ""
        names = ", ".join(missing[:_SHOWN_MAX]) + more
        raise UsageError(f"{purpose} needs {names}, too: pip install 'rookery[{extra}]'")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it would be in
        return False
