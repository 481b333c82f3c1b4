"""M9: typed errors, in words and in numbers."""

import pytest

from rookery.errors import CongestionError, DeniedError, UnreachableError, UsageError
from rookery.mesh.proxy.fault import ProxyConnectError, ProxyFault, fault_of


@pytest.mark.parametrize("fault", list(ProxyFault))
def test_every_fault_survives_being_a_code_and_an_error(fault: ProxyFault) -> None:
    assert ProxyFault.of_code(fault.code) is fault
    expected = ProxyFault.IN_USE if fault is ProxyFault.IN_USE else fault
    assert fault_of(fault.error("tcp a:1")) is expected


def test_codes_are_told_apart_and_never_zero() -> None:
    codes = {fault.code for fault in ProxyFault}
    assert len(codes) == len(ProxyFault)
    assert min(codes) == 1


def test_an_unknown_code_is_gone() -> None:
    assert ProxyFault.of_code(4711) is ProxyFault.GONE


def test_the_callers_error_says_whose_doing_it_was() -> None:
    assert isinstance(ProxyFault.POLICY.error("x"), DeniedError)
    assert isinstance(ProxyFault.BUSY.error("x"), CongestionError)
    assert isinstance(ProxyFault.INVALID.error("x"), UsageError)
    error = ProxyFault.REFUSED.error("tcp a:1")
    assert isinstance(error, ProxyConnectError)
    assert str(error) == "tcp a:1: refused"


def test_any_other_error_of_ours_means_there_was_no_route() -> None:
    assert fault_of(UnreachableError("no path")) is ProxyFault.UNREACHABLE
