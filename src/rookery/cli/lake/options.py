"""The options that verbs of the lake share, and what they mean."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from rookery.cli import extras
from rookery.cli.terminal.options import data_folder
from rookery.errors import UsageError

if TYPE_CHECKING:
    from rookery.lake.engine.delta import Lake

_SECRET = re.compile("key|pass|sas|secret|token", re.IGNORECASE)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LakeOptions:
    """Which lake."""

    data: Annotated[
        str | None,
        Parameter(
            name="--data",
            help="Folder or URL (s3://…, hdfs://…) of the lake; without it, `lake` in the folder "
            "for a user's data.",
        ),
    ] = None
    storage: Annotated[
        tuple[str, ...],
        Parameter(
            name="--storage",
            negative="",
            show_default=False,
            help="KEY=VALUE for the object store of a URL, its secrets excepted: those are taken "
            "from the environment. Repeat for more.",
        ),
    ] = ()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """Where Spark works."""

    master: Annotated[
        str,
        Parameter(name="--master", help="local[*] for this machine, or spark://HOST:PORT."),
    ] = "local[*]"
    remote: Annotated[
        str | None,
        Parameter(name="--remote", help="Spark Connect, sc://HOST:PORT, in place of a master."),
    ] = None
    memory: Annotated[
        str, Parameter(name="--memory", help="Of Spark's driver on this machine.")
    ] = "2g"
    log: Annotated[
        Path | None,
        Parameter(
            name="--log",
            help="File for what Spark says, and for the whole of each error; without it, one in "
            "the folder for temporary files, which is named when something fails.",
        ),
    ] = None


LAKE_OPTIONS = LakeOptions()
SPARK_OPTIONS = SparkOptions()


def open_lake(lake_options: LakeOptions = LAKE_OPTIONS, *, must_exist: bool = True) -> "Lake":
    """UsageError when the packages for it are not installed, or there is no lake."""
    extras.need("the lake", extras.TABLES, "lake")
    from rookery.lake.engine.delta import Lake

    url = lake_options.data or str(data_folder() / "lake")
    if must_exist and "://" not in url and not Path(url).is_dir():
        raise UsageError(f"there is no lake in {url}; `rookery lake demo` makes one")
    return Lake(url, _storage(lake_options.storage))


def check_spark(spark_options: SparkOptions) -> str:
    """Which Spark will work, and with which Java; UsageError when something for it is missing."""
    if spark_options.remote is not None:
        extras.need("Spark Connect", extras.CONNECT, "connect")
        return f"Spark at {spark_options.remote}"
    extras.need("the pipeline", extras.PIPELINE, "lake")
    from rookery.lake.engine import java

    found = java.find()
    return f"Spark at {spark_options.master}, Java {found.version} ({found.source}, {found.home})"


def parse_day(text: str) -> date:
    """As in 2026-03-02."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no day like 2026-03-02") from None


def _storage(pairs: Sequence[str]) -> dict[str, str]:
    storage = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError("--storage takes KEY=VALUE")  # the value may be a secret
        if _SECRET.search(key):
            raise UsageError(
                f"{key} is a secret: put it into the environment, where no ps shows it"
            )
        storage[key] = value
    return storage
