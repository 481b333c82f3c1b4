"""`rookery crow serve`: answer requests with the output of a program.

The request is the program's stdin, its stdout is the answer. No shell is involved and nothing of
the request gets onto the command line. One request is answered after the other.
"""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from contextlib import suppress
from tempfile import TemporaryFile
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
    Theme,
)
from rookery.cli.runner import run_service
from rookery.cli.terminal.exit_codes import OK, complain
from rookery.cli.terminal.options import OUTPUT, TIMEOUT_S, Output
from rookery.cli.terminal.screen import print_json, remark
from rookery.errors import UsageError
from rookery.wire.crow.node import MESSAGE_SIZE_MAX

ANSWER_SIZE_MAX = MESSAGE_SIZE_MAX - 1024  # beside its theme

_READ_SIZE = 1 << 16


def serve(
    theme: Theme,
    /,
    *command: Annotated[
        str,
        Parameter(
            name="COMMAND",
            allow_leading_hyphen=True,
            help="A program and its arguments, after -- where these have options.",
        ),
    ],
    echo: Annotated[
        bool,
        Parameter(
            name="--echo",
            negative="",
            show_default=False,
            help="Answer with the request itself, without any program.",
        ),
    ] = False,
    timeout_s: Annotated[
        float, Parameter(name="--timeout", help="Seconds until the program is ended.")
    ] = TIMEOUT_S,
    broker_options: CrowBrokerOptions = BROKER_OPTIONS,
    qos_options: CrowQosOptions = QOS_OPTIONS,
    send_options: CrowSendOptions = SEND_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if echo == bool(command):
        raise UsageError("answer with what? give either COMMAND or --echo")
    name = checked_theme(theme)
    service = _RequestService(theme, command, timeout_s, output)

    async def work() -> int:
        qos, ackquant_ms = qos_options.qos, qos_options.ackquant_ms
        async with (
            broker_client(broker_options, send_options) as (client, refusal),
            client.subscribe(name, qos=qos, ackquant_ms=ackquant_ms) as questions,
        ):
            await refusal.check()
            service.print_serving()
            await client.answer(questions, service.answer)
        return OK

    return run_service(work())


class _RequestService:
    def __init__(
        self, theme: str, command: Sequence[str], timeout_s: float, output: Output
    ) -> None:
        self._theme = theme
        self._command = command
        self._timeout_s = timeout_s
        self._output = output

    def print_serving(self) -> None:
        if self._output.json:
            print_json({"event": "serving", "theme": self._theme})
        else:
            remark(f"serving {self._theme}")

    async def answer(self, question: bytes) -> bytes:
        """The program's output; nothing where it fails."""
        answer = await self._run(question) if self._command else question
        if self._output.json:
            print_json({"event": "request", "theme": self._theme, **message_data.fields(question)})
        return answer

    async def _run(self, question: bytes) -> bytes:
        name = self._command[0]
        try:
            async with asyncio.timeout(self._timeout_s):
                code, answer = await _output(self._command, question)
        except TimeoutError:
            complain(f"{name} took longer than {self._timeout_s:g} s; see --timeout")
        except OSError as error:
            complain(f"cannot run {name}: {error.strerror}; check the COMMAND")
        else:
            if len(answer) > ANSWER_SIZE_MAX:
                complain(f"{name} said more than {ANSWER_SIZE_MAX} bytes, which no message holds")
            elif code:
                complain(f"{name} ended with exit code {code}")
            else:
                return answer
        return b""


async def _output(command: Sequence[str], question: bytes) -> tuple[int, bytes]:
    """Exit code and stdout of a program, of which one byte too many is enough."""
    with TemporaryFile() as stdin:  # a pipe could break: the program need not read its stdin
        stdin.write(question)
        stdin.seek(0)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=stdin, stdout=PIPE, stderr=DEVNULL
        )
    assert process.stdout is not None
    try:
        answer = b""
        while len(answer) <= ANSWER_SIZE_MAX and (piece := await process.stdout.read(_READ_SIZE)):
            answer += piece
        return (await process.wait() if len(answer) <= ANSWER_SIZE_MAX else 0), answer
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
