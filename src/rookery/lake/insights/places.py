"""Places: where devices and servers are, by the address that each first enrolled from."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

_V4 = r"^(\d{1,3}\.\d{1,3}\.\d{1,3})\.\d{1,3}(:\d+)?$"
_V6_IN_BRACKETS = r"^\[([0-9a-f:]+)\](:\d+)?$"
_V6 = r"^[0-9a-f]*:[0-9a-f:]*:[0-9a-f]*$"


def places(enrolments: DataFrame) -> DataFrame:
    """`insights/places` from `clean/enrolments`.

    The first enrolment counts, so that a later one does not change what is known of the past.
    """
    first = F.min(F.struct("received_at", "spool", "position", "kind", "hashname", "address"))
    found = enrolments.groupBy("reporter").agg(first.alias("first"))
    return found.select(
        "reporter", "first.kind", "first.hashname", "first.address", _site("first.address")
    )


def _site(address: str) -> Column:
    """The address's network: 192.0.2.0/24, or 2001:db8:7::/48."""
    text = F.lower(F.col(address))
    v6 = F.coalesce(
        F.nullif(F.regexp_extract(text, _V6_IN_BRACKETS, 1), F.lit("")),
        F.when(text.rlike(_V6), text),
    )
    groups = F.filter(F.split(F.element_at(F.split(v6, "::"), 1), ":"), lambda each: each != "")
    zeros = F.array(*(F.lit("0") for _ in range(3)))
    network = F.concat(F.array_join(F.slice(F.concat(groups, zeros), 1, 3), ":"), F.lit("::/48"))
    v4 = F.nullif(F.regexp_extract(text, _V4, 1), F.lit(""))
    return F.coalesce(F.concat(v4, F.lit(".0/24")), network).alias("site")
