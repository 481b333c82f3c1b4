"""What every answer carries, what bodies may not do, and what supervisors ask."""

import msgspec

from rookery.web.http.problems import ProblemDetails
from tests.web.world import MAC, World

API = "/api/v1"


PATHS = ("/", "/auth", "/nowhere", f"{API}/me", f"{API}/nowhere", "/static/nothing", "/healthz")


async def test_every_answer_carries_the_security_headers(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        for path in PATHS:
            headers = (await client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert headers["referrer-policy"] == "same-origin"
            assert "default-src 'self'" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "server" not in headers
            if "static" not in path:
                assert headers["cache-control"] == "no-store"


BODIES = [
    (b"{", "application/json", 400),
    (b"[]", "application/json", 400),
    (b'{"login": 1, "password": []}', "application/json", 400),
    (b'{"login": "a", "password": "b", "role": "admin"}', "application/json", 400),
    (b'{"login": "a\\ud800", "password": "0123456789"}', "application/json", 400),
    (b'{"login": "a\\u0000", "password": "0123456789"}', "application/json", 400),
    (b"\xff\xfe", "application/json", 400),
    (b"login=alice&password=0123456789", "application/x-www-form-urlencoded", 400),
    (b"", "application/json", 400),
    (b"[" * 5000, "application/json", 400),
    (b'{"login": "' + b"a" * 70_000, "application/json", 413),
]


async def test_bodies_that_lie_are_the_clients_fault(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        for body, kind, status in BODIES:
            answer = await client.post(
                f"{API}/accounts", content=body, headers={"content-type": kind}
            )
            problem = msgspec.json.decode(answer.content, type=ProblemDetails)
            assert answer.status_code == problem.status == status, (body[:40], problem)
            assert answer.headers["content-type"].startswith("application/problem+json")
    assert await hubworld.site.accounts.count() == 0


FORMS = [
    (b"login=%ff%fe&password=%00", "application/x-www-form-urlencoded"),
    (b"--x\r\nnonsense", "multipart/form-data; boundary=x"),
    (b"--x\r\nnonsense", "multipart/form-data"),
    (b'{"login": "a"}', "application/json"),
    (b"login=" + b"a" * 5000 + b"&password=b", "application/x-www-form-urlencoded"),
    (b"login=a&password=b", "nonsense/;;;="),
]


async def test_forms_that_lie_are_too(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        for body, kind in FORMS:
            answer = await client.post("/auth", content=body, headers={"content-type": kind})
            assert 400 <= answer.status_code < 500, (body[:40], answer.text)


async def test_what_is_no_mac_is_malformed(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    for mac in ("x", "02:fc:00:00:00:0g", "ff:ff:ff:ff:ff:ff", "%0d%0aa:b", "%00"):
        for answer in (
            await alice.get(f"{API}/devices/{mac}"),
            await alice.post(f"/?mac={mac}"),
            await alice.post(f"/devices/{mac}/release"),
        ):
            assert answer.status_code == 400, (mac, answer.text)
            assert "set-cookie" not in answer.headers


async def test_problems_of_ours_tell_nothing(hubworld: World) -> None:
    def broken() -> bytes:
        raise RuntimeError("the master secret is 12345")

    hubworld.hub.metrics_text = broken  # type: ignore[method-assign]
    async with hubworld.anonymous() as client:
        answer = await client.get("/metrics")
        assert answer.status_code == 500
        assert "12345" not in answer.text


async def test_supervisors_see_life_readiness_and_figures(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        assert (await client.get("/healthz")).text == "ok\n"
        assert (await client.get("/readyz")).status_code == 200
        assert "rookery_reports_total" in (await client.get("/metrics")).text
        hubworld.hub.is_up = False
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/healthz")).status_code == 200


async def test_the_api_describes_itself(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        schema = (await client.get(f"{API}/openapi.json")).json()
    assert f"{API}/devices/{{mac}}/connect" in schema["paths"]
    assert not [path for path in schema["paths"] if not path.startswith(API)]
    assert MAC.hex(":") not in str(schema)


HEADERS = ("accept", "accept-language", "cookie", "authorization", "content-type", "host", "origin")
NONSENSE = (
    *("", ";;;q=,,,", "*/*;q=abc", "application/json;q=1e999", ",", "a" * 3000, "\xff\xfe"),
    *("=;=", "bearer", "Bearer \xff", "http://[", "hub.test:99999", "[::", "x y", "\t"),
)


async def test_headers_that_lie_break_nothing(hubworld: World) -> None:
    alice = await hubworld.signed_in("alice")
    for name in HEADERS:
        for value in NONSENSE:
            headers = [(name.encode(), value.encode("latin-1"))]
            for method, path in (("GET", "/"), ("POST", f"{API}/codes"), ("POST", "/auth")):
                answer = await alice.request(method, path, headers=headers)
                assert answer.status_code < 500, (name, value[:40], method, path)


async def test_files_outside_the_static_folder_stay_there(hubworld: World) -> None:
    async with hubworld.anonymous() as client:
        for path in ("../app.py", "%2e%2e/app.py", "..%2fapp.py", "..%5capp.py", "/etc/passwd", ""):
            answer = await client.get(f"/static/{path}")
            assert answer.status_code in (400, 404), path
