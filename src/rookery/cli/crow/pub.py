"""`rookery crow pub`: one message to all subscribers of a theme."""

from rookery.cli.crow.client import broker_client, checked_theme
from rookery.cli.crow.message_data import message
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
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_fields, print_json
from rookery.errors import UnreachableError
from rookery.runtime.crow.outcome import DeliveryStatus
from rookery.wire.crow.node import MESSAGE_SIZE_MAX


def pub(
    theme: Theme,
    data: Data,
    /,
    *,
    broker_options: CrowBrokerOptions = BROKER_OPTIONS,
    qos_options: CrowQosOptions = QOS_OPTIONS,
    send_options: CrowSendOptions = SEND_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    name = checked_theme(theme)

    async def work() -> int:
        content = await message(data, MESSAGE_SIZE_MAX)
        async with broker_client(broker_options, send_options) as (client, refusal):
            outcome = await client.publish(
                name, content, qos=qos_options.qos, ackquant_ms=qos_options.ackquant_ms
            )
            if outcome.status is DeliveryStatus.UNDELIVERED:
                raise UnreachableError(f"not delivered to the broker: {outcome.reason}")
            await refusal.check()
        shown = {"status": str(outcome.status), "theme": theme, "qos": qos_options.qos}
        if output.json:
            print_json(shown)
        else:
            print_fields(shown.items())
        return OK

    return run_verb(work())
