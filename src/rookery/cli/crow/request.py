"""`rookery crow request`: send a request to the server of a theme, through the broker."""

from typing import Annotated

from cyclopts import Parameter

from rookery.cli.crow import message_data
from rookery.cli.crow.client import broker_client, checked_theme
from rookery.cli.crow.options import (
    BROKER_OPTIONS,
    QOS_OPTIONS,
    SEND_OPTIONS,
    CrowBrokerOptions,
    CrowQosOptions,
    CrowSendOptions,
    Data,
    Theme,
)
from rookery.cli.runner import run_verb
from rookery.cli.terminal import stdio
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, TIMEOUT_S, Output
from rookery.cli.terminal.screen import print_json
from rookery.wire.crow.node import MESSAGE_SIZE_MAX


def request(
    theme: Theme,
    data: Data,
    /,
    *,
    timeout_s: Annotated[
        float, Parameter(name="--timeout", help="Seconds to wait for the answer.")
    ] = TIMEOUT_S,
    broker_options: CrowBrokerOptions = BROKER_OPTIONS,
    qos_options: CrowQosOptions = QOS_OPTIONS,
    send_options: CrowSendOptions = SEND_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    name = checked_theme(theme)

    async def work() -> int:
        question = await message_data.message(data, MESSAGE_SIZE_MAX)
        async with broker_client(broker_options, send_options) as (client, _):
            answer = await client.ask(
                name,
                question,
                timeout_s=timeout_s,
                qos=qos_options.qos,
                ackquant_ms=qos_options.ackquant_ms,
            )
        if output.json:
            print_json({"theme": theme, **message_data.fields(answer)})
        else:
            await stdio.write(message_data.line(answer))
        return OK

    return run_verb(work())
