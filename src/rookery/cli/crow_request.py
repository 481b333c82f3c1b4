"""`rookery crow request`: ask whoever serves a theme, through the broker."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli import crow_data, pipe
from rookery.cli.crow_client import broker_client, checked_theme
from rookery.cli.crow_options import (
    LEAVING,
    QUALITY,
    THROUGH,
    Data,
    Leaving,
    Quality,
    Theme,
    Through,
)
from rookery.cli.exits import OK
from rookery.cli.life import run_verb
from rookery.cli.options import OUTPUT, TIMEOUT_S, Output
from rookery.cli.screen import print_json
from rookery.wire.crow_node import MESSAGE_SIZE_MAX


def request(
    theme: Theme,
    data: Data,
    /,
    *,
    timeout_s: Annotated[
        float, Parameter(name="--timeout", help="Seconds to wait for the answer.")
    ] = TIMEOUT_S,
    through: Through = THROUGH,
    quality: Quality = QUALITY,
    leaving: Leaving = LEAVING,
    output: Output = OUTPUT,
) -> int:
    name = checked_theme(theme)

    async def work() -> int:
        question = await crow_data.message(data, MESSAGE_SIZE_MAX)
        async with broker_client(through, leaving) as (client, _):
            answer = await client.ask(
                name,
                question,
                timeout_s=timeout_s,
                qos=quality.qos,
                ackquant_ms=quality.ackquant_ms,
            )
        if output.json:
            print_json({"theme": theme, **crow_data.fields(answer)})
        else:
            await pipe.write(crow_data.line(answer))
        return OK

    return run_verb(work())
