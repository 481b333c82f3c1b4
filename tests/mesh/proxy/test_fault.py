"""M9: typed errors, in words and in numbers."""

import pytest

from rookery.errors import CongestionError, DeniedError, UnreachableError, UsageError
from rookery.mesh.proxy.fault import ConnectError, Fault, fault_of


@pytest.mark.parametrize("fault", list(Fault))
def test_every_fault_survives_being_a_code_and_an_error(fault: Fault) -> None:
    assert Fault.of_code(fault.code) is fault
    expected = Fault.IN_USE if fault is Fault.IN_USE else fault
    assert fault_of(fault.error("tcp a:1")) is expected


def test_codes_are_told_apart_and_never_zero() -> None:
    codes = {fault.code for fault in Fault}
    assert len(codes) == len(Fault)
    assert min(codes) == 1


def test_an_unknown_code_is_gone() -> None:
    assert Fault.of_code(4711) is Fault.GONE


def test_the_callers_error_says_whose_doing_it_was() -> None:
    assert isinstance(Fault.POLICY.error("x"), DeniedError)
    assert isinstance(Fault.BUSY.error("x"), CongestionError)
    assert isinstance(Fault.INVALID.error("x"), UsageError)
    error = Fault.REFUSED.error("tcp a:1")
    assert isinstance(error, ConnectError)
    assert str(error) == "tcp a:1: refused"


def test_any_other_error_of_ours_means_there_was_no_way() -> None:
    assert fault_of(UnreachableError("no path")) is Fault.UNREACHABLE
