"""Faults: every one has a word for the wire and a sentence for people."""

import pytest

from rookery.errors import CongestionError, DeniedError, UnreachableError, UsageError
from rookery.mesh.files.fault import CopyError, FileFault


@pytest.mark.parametrize("fault", FileFault)
def test_every_fault_reads_back_and_says_what_it_is_about(fault: FileFault) -> None:
    assert FileFault.of_word(fault.value) is fault
    assert str(fault.error("bob:docs/a")).startswith("bob:docs/a: ")
    assert CopyError(fault).fault is fault


def test_a_word_of_later_times_is_just_broken() -> None:
    assert FileFault.of_word("eclipse") is FileFault.BROKEN


def test_blame_is_in_the_type() -> None:
    assert isinstance(FileFault.READ_ONLY.error(""), DeniedError)
    assert isinstance(FileFault.PATH.error(""), UsageError)
    assert isinstance(FileFault.BUSY.error(""), CongestionError)
    assert isinstance(FileFault.FULL.error(""), UnreachableError)
