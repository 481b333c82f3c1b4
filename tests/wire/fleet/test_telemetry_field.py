"""The telemetry schema: what is known of each field that devices report."""

import msgspec

from rookery.wire.fleet.telemetry import CHART_FIELDS, DEVICE_FIELDS, DeviceReport

BY_NAME = {each.name: each for each in DEVICE_FIELDS}
UNDESCRIBED = {"t", "b", "n", "stream"}
"""Origin of the report, and what only the hub's rendezvous needs."""


def test_every_field_of_a_report_is_described() -> None:
    assert BY_NAME.keys() == set(DeviceReport.__struct_fields__) - UNDESCRIBED


def test_type_and_range_are_those_of_the_wire() -> None:
    temp, up = BY_NAME["temp"], BY_NAME["up"]
    assert (temp.type, temp.is_optional, temp.low, temp.high) == (float, True, -300.0, 1000.0)
    assert (temp.default, temp.annotation) == (None, float | None)
    assert (up.type, up.is_optional, up.low, up.high) == (float, False, 0.0, 1e15)
    assert (up.public_name, up.unit, up.annotation) == ("up_s", "s", float)
    assert (BY_NAME["dropped"].type, BY_NAME["agent"].type) == (int, str)
    assert BY_NAME["ifs"].type is dict


def test_a_field_without_a_value_keeps_its_default() -> None:
    """Reports of senders that do not know a field decode."""
    described = {each.name for each in DEVICE_FIELDS}
    required = {each.name for each in msgspec.structs.fields(DeviceReport) if each.required}
    assert described.isdisjoint(required)


def test_only_numbers_have_a_chart() -> None:
    assert CHART_FIELDS
    assert all(each.type in {float, int} and each.in_lake for each in CHART_FIELDS)
