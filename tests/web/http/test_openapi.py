"""Requests made up from the OpenAPI description: whatever they are, they are never our fault."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation

from rookery.web.serve import serve
from rookery.web.settings import LoginThrottleLimits
from tests.patience import PATIENCE_S
from tests.web.world import SETTINGS, world

PATIENT = msgspec.structs.replace(
    SETTINGS,
    guesses=LoginThrottleLimits(
        per_account_and_address=10**6,
        per_address=10**6,
        per_account=10**6,
        registrations_per_address=10**6,
    ),
)
EXAMPLES = 12  # for each of some thirty operations
# These would end the session of the caller that all the others are tried with.
UNTRIED = {"DELETE /api/v1/session", "DELETE /api/v1/accounts/{login}"}


AnyCase = schemathesis.Case[APIOperation[Any, Any, Any, Any]]


class Target(NamedTuple):
    url: str
    cookie: str


@contextmanager
def serving(folder: Path, template: Path) -> Iterator[Target]:
    """The application in a loop of its own, as schemathesis has none."""
    ready: asyncio.Queue[Target] = asyncio.Queue()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        async with world(folder, template, PATIENT) as made:
            admin = await made.signed_in("root", "admin")
            async with serve(made.hub, "127.0.0.1", 0, PATIENT) as url:
                ready.put_nowait(Target(url, admin.cookies["rookery_session"]))
                await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(ready.get(), loop).result(60)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
        loop.close()


@pytest.mark.slow
def test_no_request_made_from_the_description_breaks_the_hub(
    tmp_path: Path, template: Path
) -> None:
    """F14."""
    with serving(tmp_path, template) as target:
        schema = schemathesis.openapi.from_url(f"{target.url}/api/v1/openapi.json")
        schema.config.generation.update(with_security_parameters=False)  # we have our own
        headers = {"cookie": f"rookery_session={target.cookie}"}
        answers: Counter[int] = Counter()
        tried = 0
        for found in schema.get_all_operations():
            assert isinstance(found, Ok)
            operation = found.ok()
            if operation.label in UNTRIED:
                continue
            tried += 1

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                derandomize=True,
                database=None,
                phases=(Phase.explicit, Phase.generate),
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def check(case: AnyCase) -> None:
                answer = case.call_and_validate(headers=headers, checks=[not_a_server_error])
                answers[answer.status_code] += 1

            check()
        assert tried > 20
        assert sum(answers[status] for status in (200, 201, 204)) > tried  # not only refused
