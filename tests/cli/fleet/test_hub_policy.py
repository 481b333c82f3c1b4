"""H3: what a hub does of whom it is not told."""

from pathlib import Path

from rookery.cli.fleet.hub_options import EnrolmentOptions
from rookery.fleet.reports.validator_settings import ReportValidatorSettings
from rookery.hub.settings import HubSettings


def test_by_default_no_device_enrols_without_a_code(tmp_path: Path) -> None:
    """The command, the program behind it and its core alike."""
    defaults = (EnrolmentOptions(), HubSettings(data=tmp_path), ReportValidatorSettings())
    assert [each.policy for each in defaults] == ["claim"] * 3
