"""`rookery chat`: every line of stdin is said, every line heard is printed.

With LINK we invite; without it we print our own link and accept the first invitation. Whoever
prints a line acknowledges it, so the other side knows when it may leave.
"""

import asyncio
import sys
from typing import Annotated

from cyclopts import Parameter

from rookery.cli.link.acceptance import Accept, Known, accept
from rookery.cli.link.client_endpoint import client_endpoint, link_up
from rookery.cli.link.options import LINK_OPTIONS, LinkOptions, Target
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_service
from rookery.cli.terminal import stdio
from rookery.cli.terminal.exit_codes import OK
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.screen import print_json, print_link, printable, remark
from rookery.errors import DeniedError, UnreachableError, UsageError
from rookery.link.channels.chat_events import (
    Notice,
    ParticipantOffline,
    ParticipantOnline,
    ParticipantUnreachable,
    TextAcknowledged,
    TextCorrected,
    TextReceived,
)
from rookery.runtime.endpoint.channels.chat import ChatInvitation
from rookery.runtime.endpoint.channels.chat_room import ChatRoom


def chat(
    target: Target | None = None,
    /,
    *,
    name: Annotated[
        str | None, Parameter(name="--name", help="How the other sees us; else our hashname.")
    ] = None,
    accepting: Accept = "known",
    known: Known = (),
    link_options: LinkOptions = LINK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    if target == "-":
        raise UsageError("stdin cannot be both LINK and the chat; give LINK as a file or URI")
    if target is not None:
        return run_service(_invite(target, name, link_options, output))
    if accepting == "known" and not known:
        raise UsageError("nobody could come to this chat; give LINK, --known LINK or --accept all")
    return run_service(_wait(name, accepting, known, link_options, output))


async def _invite(target: str, name: str | None, link_options: LinkOptions, output: Output) -> int:
    address = parse_target(target)
    routers = [parse_target(text) for text in link_options.via]
    async with client_endpoint([address, *routers], link_options) as endpoint:
        link = await link_up(endpoint, address, link_options, routers)
        async with await link.chat(name or endpoint.hashname[:8]) as room:
            await ChatSession(room, output, leaves_first=True).run(link_options.timeout_s)
    return OK


async def _wait(
    name: str | None, accepting: Accept, known: Known, link_options: LinkOptions, output: Output
) -> int:
    addresses = [parse_target(text) for text in (*known, *link_options.via)]
    async with client_endpoint(addresses, link_options) as endpoint:
        invited: asyncio.Future[ChatInvitation] = asyncio.get_running_loop().create_future()

        async def invite(invitation: ChatInvitation) -> None:
            if invited.done():
                raise DeniedError("already in a chat")
            invited.set_result(invitation)

        endpoint.on_invite(invite)
        accept(endpoint, accepting, known)
        print_link(endpoint.address, is_versioned=output.json)
        async with endpoint.chats.accept(await invited, name or endpoint.hashname[:8]) as room:
            await ChatSession(room, output, leaves_first=sys.stdin.isatty()).run(
                link_options.timeout_s
            )
    return OK


class ChatSession:
    """One conversation on a terminal or between pipes."""

    def __init__(self, room: ChatRoom, output: Output, *, leaves_first: bool) -> None:
        self._room = room
        self._output = output
        self._leaves_first = leaves_first  # at the end of stdin, else when the other has left
        self._unacknowledged: set[str] = set()
        self._all_acknowledged = asyncio.Event()

    async def run(self, timeout_s: float) -> None:
        """Run until the peer leaves, or all our lines are sent and acknowledged."""
        loop = asyncio.get_running_loop()
        receiving = loop.create_task(self._receive())
        sending = loop.create_task(self._send_lines(timeout_s))
        try:
            await asyncio.wait([receiving, sending], return_when=asyncio.FIRST_COMPLETED)
            for task in (receiving, sending):
                if task.done():
                    task.result()
        finally:
            receiving.cancel()
            sending.cancel()

    async def _send_lines(self, timeout_s: float) -> None:
        async for line in stdio.lines():
            if line:
                self._unacknowledged.add(await self._room.send(line))
                self._all_acknowledged.clear()
        if not self._leaves_first:
            await asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout_s):
                while self._unacknowledged:
                    await self._all_acknowledged.wait()
        except TimeoutError as error:
            raise UnreachableError(
                f"{len(self._unacknowledged)} lines were not confirmed in time; "
                "is anybody there? A longer --timeout waits longer"
            ) from error

    async def _receive(self) -> None:
        async for notice in self._room:
            match notice:
                case TextReceived(sender, message) | TextCorrected(sender, message):
                    self._print(sender, notice)
                    await self._room.acknowledge(message.id)
                case TextAcknowledged(_, id_, _):
                    self._unacknowledged.discard(id_)
                    if not self._unacknowledged:
                        self._all_acknowledged.set()
                case ParticipantOnline(hashname):
                    self._remark("joined", hashname)
                case ParticipantOffline(hashname):
                    self._remark("left", hashname)
                    return
                case ParticipantUnreachable(hashname, reason):
                    raise _refusal(hashname, reason)
                case _:
                    continue

    def _print(self, sender: str, notice: Notice) -> None:
        assert isinstance(notice, TextReceived | TextCorrected)
        text = notice.message.text
        event = "said" if isinstance(notice, TextReceived) else "corrected"
        if self._output.json:
            fields = {"hashname": sender, "name": self._name(sender)}
            print_json({"event": event, **fields, "id": notice.message.id, "text": text})
        else:
            print(f"{printable(self._name(sender))}: {printable(text)}", flush=True)

    def _remark(self, event: str, hashname: str) -> None:
        if self._output.json:
            print_json({"event": event, "hashname": hashname, "name": self._name(hashname)})
        else:
            remark(f"{self._name(hashname)} {event}")

    def _name(self, hashname: str) -> str:
        profile = self._room.participants.get(hashname)
        return profile.text if profile is not None and profile.text else hashname[:8]


def _refusal(hashname: str, reason: str) -> DeniedError | UnreachableError:
    if reason in {"unknown type", "cannot accept invites"}:
        return DeniedError(f"{hashname[:8]} does not chat; start there: rookery chat")
    return UnreachableError(f"{hashname[:8]} did not take part: {reason}; try again")
