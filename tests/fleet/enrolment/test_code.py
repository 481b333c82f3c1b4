"""F4: codes to enrol with."""

import pytest

from rookery.fleet.enrolment.code import EnrolmentCode
from rookery.fleet.entry import FleetKind

CODE = EnrolmentCode(id=bytes(8), key=bytes(32), kind="router", owner=1, expires_at=100.0)
USED = EnrolmentCode(
    id=bytes(8), key=bytes(32), kind="router", owner=1, expires_at=100.0, used_by="a"
)


@pytest.mark.parametrize(
    ("code", "kind", "name", "now", "admits"),
    [
        (CODE, "router", "a", 99.0, True),
        (CODE, "router", "a", 100.0, False),
        (CODE, "server", "a", 99.0, False),
        (USED, "router", "a", 99.0, True),
        (USED, "router", "b", 99.0, False),
    ],
)
def test_a_code_admits_one_of_its_kind_in_time_f4(
    code: EnrolmentCode, kind: FleetKind, name: str, now: float, admits: bool
) -> None:
    assert code.admits(kind, name, now) is admits
