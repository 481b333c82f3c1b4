"""Where the time of streams and tunnels goes, at both ends; written to bench/profile.md."""

from collections.abc import Sequence
from multiprocessing.connection import Connection

from bench import tunnel_profile
from bench.ends import LinkVariant, end, serve_all
from bench.machine import ROOT, description
from bench.process import answer, child, ordered
from bench.sampler import Sampler, Samples, Share
from bench.stream import transfer
from bench.turns import Job
from rookery.runtime.loop import run

SECONDS = 4.0

_PAGE = ROOT / "bench" / "profile.md"
_VARIANTS = (LinkVariant(0x40, "udp"), LinkVariant(0x40, "tcp"))
_FUNCTIONS = 16
_LINES = 12


def profile(seconds: float = SECONDS) -> str:
    """Profile every variant; the page, as Markdown."""
    parts = [
        "# Profile",
        f"Made by `python -m bench profile` on {description()}.",
        "Bytes one way between two processes, sampled at both ends at every tick of processor "
        "time. *Own* is the share of a function itself with the C it calls, *total* includes the "
        "Python it calls.",
    ]
    for variant in _VARIANTS:
        rate, sender, receiver = _profile_variant(variant, seconds)
        parts.append(f"## Stream {variant}: {rate:.0f} MB/s")
        parts += [_end("Sender", sender), _end("Receiver", receiver)]
    rate, near, far = tunnel_profile.profile(seconds)
    parts.append(f"## Tunnel from a listener to an exit, 1 hop: {rate:.0f} MB/s")
    parts += [_end("The node with the listener", near), _end("The node with the exit", far)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    page = profile()
    _PAGE.write_text(page)
    print(page)


def _profile_variant(variant: LinkVariant, seconds: float) -> tuple[float, Samples, Samples]:
    with child(_server, variant) as server:
        job = Job(variant, answer(server, dict), seconds)
        with child(_client, job) as client:
            rate, sender = answer(client, tuple)
        server.send(None)
        return rate, sender, answer(server, Samples)


def _server(pipe: Connection, variant: LinkVariant) -> None:
    async def serve() -> None:
        async with end(variant) as here:
            serve_all(here.endpoint)
            pipe.send(here.endpoint.address.json())
            with Sampler() as samples:
                await ordered(pipe)
            pipe.send(samples)

    run(serve())


def _client(pipe: Connection, job: Job) -> None:
    async def send() -> None:
        async with end(job.variant) as here:
            link = await here.endpoint.link(job.address).up()
            with Sampler() as samples:
                turn = await transfer(here, link, job.seconds)
            pipe.send((turn.rate, samples))

    run(send())


def _end(title: str, samples: Samples) -> str:
    functions = _table("function", samples.top_functions(_FUNCTIONS))
    lines = _table("line", samples.top_lines(_LINES))
    return f"### {title}\n\n{functions}\n\n{lines}"


def _table(heading: str, shares: Sequence[Share]) -> str:
    rows = [f"| {heading} | own | total |", "|---|---|---|"]
    for share in shares:
        place = share.place.replace("|", "\\|")
        rows.append(f"| `{place}` | {share.own:.1%} | {share.total:.1%} |")
    return "\n".join(rows)
