"""What strangers on the internet could do to a hub; a real process, over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.program import rookery
from tests.e2e.fleet.world import PASSWORD, Hub, Stores
from tests.patience import PATIENCE_S

DEPTH = 100_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("hub") / "hub"
    started = Hub(folder, Stores())
    try:
        added = rookery(
            *("fleet", "account", "add", "admin", "--role", "admin", "--data", folder),
            stdin=PASSWORD.encode(),
        )
        assert added.code == 0, added.err
        yield started
    finally:
        started.close()


@pytest.fixture
def http(hub: Hub) -> Iterator[httpx.Client]:
    headers = {"Accept": "application/json"}
    with httpx.Client(base_url=hub.url, headers=headers, timeout=PATIENCE_S) as client:
        yield client


def sign_in(http: httpx.Client, login: str) -> None:
    answer = http.post("/auth", params={"login": login, "password": PASSWORD})
    assert answer.status_code in (200, 201), answer.text


@pytest.mark.parametrize("path", ["/api/v1/codes", "/api/v1/tokens", "/api/v1/accounts"])
def test_deep_json_is_refused_as_malformed(hub: Hub, http: httpx.Client, path: str) -> None:
    sign_in(http, "admin")
    deep = b"[" * DEPTH + b"]" * DEPTH
    for body in (deep, b'{"kind":' + deep + b"}"):
        answer = http.post(path, content=body, headers={"Content-Type": "application/json"})
        assert 400 <= answer.status_code < 500, answer.text
    assert http.get("/readyz").status_code == 200


def test_whether_a_device_exists_cannot_be_told_from_the_answers(
    hub: Hub, http: httpx.Client, tmp_path: Path
) -> None:
    """Low: 404 and 403 told apart which MACs there are."""
    once = ("--routers", "1", "--interval", "0.5", "--seconds", "1")
    added = rookery("fleet", "simulate", "--hub", hub.link, *once)
    assert added.code == 0, added.err
    sign_in(http, "admin")
    (there,) = http.get("/api/v1/routers").json()["routers"]
    macs = (there["mac"], "02:fc:00:00:77:77")
    http.post("/registation", params={"login": "eve", "password": PASSWORD})
    sign_in(http, "eve")
    answers = [http.get(f"/api/v1/devices/{mac}") for mac in macs]
    told = [
        (each.status_code, each.text.replace(mac, ""))
        for each, mac in zip(answers, macs, strict=True)
    ]
    assert told[0] == told[1]
