"""Who is where (P4)."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from rookery.lake.insights.places import places
from rookery.lake.schema.clean import ENROLMENTS
from tests.lake.fact_tables import made, spark_frame
from tests.lake.oracle import places as oracle

pytestmark = pytest.mark.xdist_group("spark")

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
ADDRESSES = {
    "192.0.2.7:4711": "192.0.2.0/24",
    "10.200.30.255": "10.200.30.0/24",
    "[2001:db8:7:8::9]:4711": "2001:db8:7::/48",
    "[2001:DB8::9]:1": "2001:db8:0::/48",
    "2001:db8:a:b:c:d:e:f": "2001:db8:a::/48",
    "[::1]:4711": "0:0:0::/48",
    "somewhere": None,
    "": None,
}


def test_a_site_is_a_network_and_the_first_enrolment_counts(spark: SparkSession) -> None:
    rows: list[dict[str, object]] = [
        {
            "spool": "hub",
            "position": position,
            "received_at": NOON + timedelta(seconds=position),
            "reporter": f"r{position % len(ADDRESSES)}",
            "kind": "router",
            "hashname": f"h{position}",
            "address": address,
            "date": NOON.date(),
        }
        for position, address in enumerate([*ADDRESSES, "203.0.113.1:1"])
    ]
    found = places(spark_frame(spark, ENROLMENTS, made(ENROLMENTS, rows))).collect()
    assert sorted(map(tuple, found)) == [
        (f"r{number}", "router", f"h{number}", address, site)
        for number, (address, site) in enumerate(ADDRESSES.items())
    ]


@pytest.mark.parametrize(("address", "site"), ADDRESSES.items())
def test_sites_are_those_that_the_library_finds(address: str, site: str | None) -> None:
    known = oracle.site(address)
    # Here no zeros are put together, so that it need not be known which ones would be.
    assert (known is None) == (site is None)
    if site is not None:
        assert oracle.site(site.partition("/")[0].replace("0:0:0::", "::")) == known
