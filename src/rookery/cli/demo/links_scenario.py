"""`rookery demo --scenario links`: endpoints that print what they do; a failed step is an error."""

import asyncio
import time

from rookery.cli.demo.links_steps import STEPS, LinksStep, LinksWorld, open_world
from rookery.cli.link.endpoint import EndpointServiceOptions, serve
from rookery.cli.runner import run_service, until_stopped
from rookery.cli.terminal.exit_codes import FAILED, OK, complain
from rookery.cli.terminal.options import Output
from rookery.cli.terminal.screen import print_json, print_link, remark
from rookery.errors import RookeryError

STEP_S_MAX = 10.0

_INTRODUCTION = """\
Four endpoints on this machine, each with keys of its own: alice, bob, a router, and carol, who is
away for now. They talk over real sockets of 127.0.0.1, and every byte between them is encrypted.
"""


def links(*, keep: bool, output: Output) -> int:
    return run_service(_demo(keep, output))


async def _demo(keep: bool, output: Output) -> int:
    began = time.perf_counter()
    if not output.json:
        print(_INTRODUCTION)
    async with open_world() as world:
        failures = 0
        for step in STEPS:
            failures += not await _carry_out(step, world, output)
        took = time.perf_counter() - began
        if output.json:
            print_json({"steps": len(STEPS), "failed": failures, "seconds": round(took, 3)})
        elif not failures:
            print(f"\n{len(STEPS)} steps in {took:.1f} s, all as promised.")
        if failures:
            again = "rookery demo --scenario links --debug"
            complain(f"{failures} of {len(STEPS)} steps failed; try: {again}")
            return FAILED
        if keep:
            serve(world.bob, EndpointServiceOptions(echo=True))
            remark("bob stays and echoes streams, until Ctrl-C; this is his link:")
            print_link(world.bob.address, is_versioned=output.json)
            await until_stopped()
    return OK


async def _carry_out(step: LinksStep, world: LinksWorld, output: Output) -> bool:
    """Run one step and print its result; True if it succeeded."""
    began, failure = time.perf_counter(), None
    try:
        async with asyncio.timeout(STEP_S_MAX):
            text = await step.act(world)
    except (RookeryError, OSError, TimeoutError) as error:
        if output.debug:
            raise
        failure = text = f"failed: {error or type(error).__name__}"
    took = round(time.perf_counter() - began, 3)
    if output.json:
        print_json({"step": step.name, "ok": failure is None, "text": text, "seconds": took})
    else:
        print(f"  {step.name:<10} {text}", flush=True)
    return failure is None
