"""`rookery crow pub`: one message to everybody who subscribed to a theme."""

from rookery.cli.crow_client import broker_client, checked_theme
from rookery.cli.crow_data import message
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
from rookery.cli.options import OUTPUT, Output
from rookery.cli.screen import print_fields, print_json
from rookery.errors import UnreachableError
from rookery.runtime.crow.outcome import Status
from rookery.wire.crow_node import MESSAGE_SIZE_MAX


def pub(
    theme: Theme,
    data: Data,
    /,
    *,
    through: Through = THROUGH,
    quality: Quality = QUALITY,
    leaving: Leaving = LEAVING,
    output: Output = OUTPUT,
) -> int:
    name = checked_theme(theme)

    async def work() -> int:
        content = await message(data, MESSAGE_SIZE_MAX)
        async with broker_client(through, leaving) as (client, refusal):
            outcome = await client.publish(
                name, content, qos=quality.qos, ackquant_ms=quality.ackquant_ms
            )
            if outcome.status is Status.UNDELIVERED:
                raise UnreachableError(f"not delivered to the broker: {outcome.reason}")
            await refusal.check()
        shown = {"status": str(outcome.status), "theme": theme, "qos": quality.qos}
        if output.json:
            print_json(shown)
        else:
            print_fields(shown.items())
        return OK

    return run_verb(work())
