"""Where a member stands, as far as its name tells."""

import pytest

from rookery.mesh.membership.membership import site_of


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("berlin-gw1", "berlin"),
        ("berlin.gw1", "berlin"),
        ("berlin-gw.1", "berlin"),
        ("new york-gw1", "new york"),
        ("berlin", ""),
        ("-gw1", ""),
        (".gw1", ""),
        ("", ""),
    ],
)
def test_a_site_is_what_stands_before_the_first_dash_or_dot(name: str, site: str) -> None:
    assert site_of(name) == site
