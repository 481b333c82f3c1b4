"""Codes of authenticator apps: against the RFCs' vectors and another program."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from rookery.web.accounts.factors.totp import (
    code_at,
    is_code,
    matching_step,
    otpauth_uri,
    secret_text,
    step_of,
)

OATHTOOL = shutil.which("oathtool")
VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "totp.json").read_text())
SECRET = bytes.fromhex(VECTORS["key"])


@pytest.mark.parametrize("case", VECTORS["totp"], ids=lambda case: str(case["time"]))
def test_the_codes_are_those_of_rfc_6238(case: dict[str, int | str]) -> None:
    step = step_of(float(case["time"]))
    assert f"{step:016X}" == case["step"]
    assert code_at(SECRET, step, digits=8) == case["code"]
    assert code_at(SECRET, step) == str(case["code"])[-6:]


@pytest.mark.parametrize("count", range(10))
def test_the_codes_are_those_of_rfc_4226(count: int) -> None:
    assert code_at(SECRET, count) == VECTORS["hotp"][count]


def test_the_machine_that_tests_each_change_has_the_other_program() -> None:
    """Elsewhere the comparison may be skipped; `.ci/packages` installs oathtool there."""
    assert OATHTOOL is not None or os.environ.get("CI") != "true"


@pytest.mark.skipif(OATHTOOL is None, reason="oathtool is not installed")
def test_another_program_has_the_same_codes() -> None:
    random = Random(6238)
    for _ in range(40):
        secret, now = random.randbytes(20), random.randrange(1 << 34)
        command = [str(OATHTOOL), "--totp", "--base32", f"--now=@{now}", "-"]
        found = subprocess.run(command, input=secret_text(secret), capture_output=True, text=True)
        assert found.stdout.strip() == code_at(secret, step_of(now)), found.stderr


def test_a_code_is_valid_in_its_half_minute_and_the_neighbours() -> None:
    now, present = 1_700_000_010.0, step_of(1_700_000_010.0)
    good = [
        step
        for step in range(present - 4, present + 5)
        if matching_step(SECRET, code_at(SECRET, step), now, 0) == step
    ]
    assert good == [present - 1, present, present + 1]


def test_no_code_is_good_at_or_before_the_last_that_was_taken() -> None:
    now, present = 1_700_000_010.0, step_of(1_700_000_010.0)
    assert matching_step(SECRET, code_at(SECRET, present), now, present) is None
    assert matching_step(SECRET, code_at(SECRET, present - 1), now, present) is None
    assert matching_step(SECRET, code_at(SECRET, present + 1), now, present) == present + 1


@pytest.mark.parametrize("text", ["", "12345", "1234567", "12345a", "١٢٣٤٥٦", "-12345"])
def test_what_is_no_code_is_none(text: str) -> None:
    assert not is_code(text)


def test_the_uri_for_apps_has_issuer_account_and_secret() -> None:
    uri = otpauth_uri(SECRET, "rookery hub.test", "ann@example.org")
    assert uri == (
        "otpauth://totp/rookery%20hub.test%3Aann%40example.org"
        "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=rookery%20hub.test"
    )
