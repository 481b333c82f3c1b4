"""`rookery crow sub`: what is published to themes, as it comes.

Plain output is the data itself, after its theme where several may come. As JSON:

    {"event":"subscribed", …}  the broker knows us from now on
    {"event":"message", …}     a message
    {"event":"missed", …}      so many messages came faster than they were read, and are lost
"""

import asyncio
from contextlib import AsyncExitStack
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
)
from rookery.cli.runner import run_service, until_first
from rookery.cli.terminal import stdio
from rookery.cli.terminal.exit_codes import OK, complain
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, printable, remark
from rookery.crow.pubsub.patterns import is_pattern, matches
from rookery.errors import UsageError
from rookery.runtime.crow.client import Subscription
from rookery.wire.crow.message import Consume


def sub(
    *themes: Annotated[
        str,
        Parameter(
            name="THEME",
            help="A name, or a pattern: + stands for any one level between slashes, # at the end "
            "for any rest.",
        ),
    ],
    latest: Annotated[
        int, Parameter(name="--latest", help="Also print so many from before, newest first.")
    ] = 0,
    count: Annotated[
        int | None, Parameter(name="--count", help="End after so many messages.")
    ] = None,
    broker_options: CrowBrokerOptions = BROKER_OPTIONS,
    qos_options: CrowQosOptions = QOS_OPTIONS,
    send_options: CrowSendOptions = SEND_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if not themes:
        raise UsageError("subscribe to what? give THEME")

    names = [checked_theme(theme) for theme in dict.fromkeys(themes)]

    async def work() -> int:
        async with (
            broker_client(broker_options, send_options) as (client, refusal),
            AsyncExitStack() as stack,
        ):
            subscriptions = []
            for name in names:
                wanted = client.subscribe(
                    name, qos=qos_options.qos, ackquant_ms=qos_options.ackquant_ms, latest=latest
                )
                subscriptions.append(await stack.enter_async_context(wanted))
            await refusal.check()
            printer = _SubscriptionPrinter(names, count, output)
            printer.print_subscribed()
            await until_first([printer.print_all(wanted) for wanted in subscriptions])
        return OK

    return run_service(work())


class _SubscriptionPrinter:
    """Prints the messages of all subscriptions, until --count is reached."""

    def __init__(self, themes: list[bytes], count: int | None, output: Output) -> None:
        self._themes = themes
        self._shows_theme = len(themes) > 1 or is_pattern(themes[0])
        self._left = count
        self._output = output
        self._stdout = asyncio.Lock()

    def print_subscribed(self) -> None:
        themes = [_text(theme) for theme in self._themes]
        if self._output.json:
            print_json({"event": "subscribed", "themes": themes})
        else:
            remark(f"subscribed to {', '.join(themes)}")

    async def print_all(self, messages: Subscription) -> None:
        while self._left is None or self._left > 0:
            message = await messages.receive()
            self._print_missed(messages)
            if not self._is_another_s(message, messages):
                await self._print(message)
                if self._left is not None:
                    self._left -= 1

    def _is_another_s(self, message: Consume, messages: Subscription) -> bool:
        """True if the message also matches a theme named before, which prints it."""
        before = self._themes[: self._themes.index(messages.theme)]
        return any(matches(theme, message.theme) for theme in before)

    async def _print(self, message: Consume) -> None:
        if self._output.json:
            theme = _text(message.theme)
            print_json({"event": "message", "theme": theme, **message_data.fields(message.data)})
            return
        name = f"{printable(_text(message.theme))}: ".encode() if self._shows_theme else b""
        async with self._stdout:
            await stdio.write(name + message_data.line(message.data))

    def _print_missed(self, messages: Subscription) -> None:
        missed, messages.missed = messages.missed, 0
        if not missed:
            return
        if self._output.json:
            print_json({"event": "missed", "theme": _text(messages.theme), "count": missed})
        else:
            complain(f"{missed} messages of {_text(messages.theme)} came too fast and are lost")


def _text(theme: bytes) -> str:
    return theme.decode(errors="backslashreplace")
