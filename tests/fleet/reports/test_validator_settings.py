"""F4: settings of the report validator."""

import pytest

from rookery.errors import UsageError
from rookery.fleet.reports.validator_settings import RENEWAL_S_MAX, ReportValidatorSettings


@pytest.mark.parametrize("renewal_s", [-1, 0, RENEWAL_S_MAX + 1])
def test_a_renewal_that_cannot_be_is_the_users_mistake_f4(renewal_s: int) -> None:
    with pytest.raises(UsageError):
        ReportValidatorSettings(renewal_s=renewal_s)


def test_nothing_is_weaker_than_it_has_to_be_by_default_f4() -> None:
    assert not ReportValidatorSettings().legacy_plain
