"""A chat as programs use it: send messages, iterate over events."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Self

from rookery.errors import ChannelError, DecodeError, ProtocolError, RookeryError
from rookery.link.channels.chat import Chat
from rookery.link.channels.chat_events import (
    AcknowledgeText,
    AnswerChat,
    ChatAnswered,
    ChatMessageArrived,
    ChatOpened,
    CorrectText,
    Event,
    InviteParticipant,
    Notice,
    OpenChat,
    Outcome,
    ParticipantDisconnected,
    ParticipantUnreachable,
    ProfileArrived,
    SendChatPacket,
    SendProfile,
    SendText,
)
from rookery.link.channels.chat_history import ChatEntry
from rookery.link.channels.chat_message import ChatProfile
from rookery.runtime.endpoint.channels.chat_channel import ChatChannel, deliver
from rookery.runtime.endpoint.channels.interface import ChannelInterface, ChannelOpener
from rookery.wire.link.lob import JsonObject, Packet, text

LinkTo = Callable[[str], Awaitable[ChannelOpener]]  # UnreachableError when there is no link
UnixSeconds = Callable[[], float]

NOTICES_MAX = 1024
LINES_MAX = 8  # per participant; the JavaScript peer opens three
ERRORS_MAX = 8  # malformed messages, before a channel is closed
ANSWER_S = 30.0
LEAVE_S = 2.0


class ChatRoom:
    """Our end of one conversation; made by `Chats`, left by `close`."""

    def __init__(
        self, chat: Chat, link_to: LinkTo, unix_s: UnixSeconds, closed: Callable[[str], None]
    ) -> None:
        self._chat = chat
        self._link_to = link_to
        self._unix_s = unix_s
        self._closed = closed
        self._lines: dict[str, list[ChatChannel]] = {}
        self._opening: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        # A program that does not read them loses the oldest; messages stay in the history.
        self._notices: deque[Notice] = deque(maxlen=NOTICES_MAX)
        self._news = asyncio.Event()
        self._is_closed = False

    @property
    def id(self) -> str:
        return self._chat.id

    @property
    def leader(self) -> str:
        return self._chat.leader

    @property
    def participants(self) -> dict[str, ChatProfile]:
        """All participants by hashname, including us."""
        return self._chat.participants

    @property
    def present(self) -> frozenset[str]:
        """Other participants with an open channel."""
        return self._chat.present

    @property
    def history(self) -> tuple[ChatEntry, ...]:
        """All messages, in reading order."""
        return tuple(self._chat.history)

    async def send(self, text: str) -> str:
        """Send a message to all; absent participants get it when they return. Returns its id."""
        self._feed(SendText(text, self._now()))
        await asyncio.sleep(0)
        newest = self._chat.history.newest
        assert newest is not None
        return newest

    async def correct(self, text: str) -> None:
        """Replace the text of our last message."""
        self._feed(CorrectText(text, self._now()))
        await asyncio.sleep(0)

    async def acknowledge(self, id_: str, state: str = "read") -> None:
        """Report the state of a message to its author."""
        self._feed(AcknowledgeText(id_, state))
        await asyncio.sleep(0)

    async def invite(self, hashname: str) -> None:
        """Invite a peer, or grant its request; for the leader only."""
        self._feed(InviteParticipant(hashname, self._now()))
        await asyncio.sleep(0)

    def reconnect(self) -> None:
        """Open channels to all who are not connected, as when a link came up again."""
        self.perform(list(self._chat.reconnect()))

    def __aiter__(self) -> AsyncIterator[Notice]:
        return self._iterate()

    async def _iterate(self) -> AsyncIterator[Notice]:
        while not self._is_closed:
            while self._notices:
                yield self._notices.popleft()
            self._news.clear()
            if not self._is_closed:
                await self._news.wait()

    async def close(self) -> None:
        """Leave: end all channels, and wait only briefly for peers that do not answer."""
        if self._is_closed:
            return
        self._is_closed = True
        self._closed(self.id)
        self._news.set()
        for lines in self._lines.values():
            for line in lines:
                line.post(None)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=LEAVE_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # --- for Chats ---

    def ask_in(self) -> None:
        """Send the leader our profile, which he may answer with his own."""
        self._feed(InviteParticipant(self.leader, self._now()))

    def profile_arrived(self, sender: str, profile: ChatProfile, known: str | None) -> None:
        self._feed(ProfileArrived(sender, profile, known, self._now()))

    async def serve(self, channel: ChannelInterface) -> None:
        """Carry a `chat` channel that a participant opened."""
        sender = channel.link.hashname
        if len(self._lines.get(sender, ())) >= LINES_MAX:
            raise ProtocolError("busy")
        outcome = self._chat.handle(ChatOpened(sender, text(channel.opening[0], "last")))
        await self._use(channel, outcome)

    def perform(self, outcome: Outcome) -> None:
        for item in outcome:
            match item:
                case SendProfile(to, known):
                    self._spawn(self._send_profile(to, known))
                case OpenChat(to, last):
                    if to not in self._opening:
                        self._opening.add(to)
                        self._spawn(self._open(to, last))
                case AnswerChat(to, last):
                    self._post(to, {"last": last})
                case SendChatPacket(to, packet):
                    self._post(to, packet)
                case _:
                    self._notices.append(item)
                    self._news.set()

    def _feed(self, event: Event) -> None:
        self.perform(self._chat.handle(event))

    def _now(self) -> int:
        return int(self._unix_s())

    def _post(self, to: str, item: JsonObject | Packet) -> None:
        """Always the newest line: it began with all that the peer lacked, so order is kept."""
        if lines := self._lines.get(to):
            lines[-1].post(item)

    async def _send_profile(self, to: str, known: str | None) -> None:
        head: JsonObject = {"chat": self.id}
        if known is not None:
            head["profile"] = known
        try:
            link = await self._link_to(to)
            await deliver(link.open("profile", head), self._chat.profile.packet)
        except RookeryError as error:
            self.perform([ParticipantUnreachable(to, str(error))])

    async def _open(self, to: str, last: str) -> None:
        try:
            link = await self._link_to(to)
            channel = link.open("chat", {"chat": self.id, "last": last})
            outcome = await self._answered(to, channel)
        except RookeryError as error:
            self.perform([ParticipantUnreachable(to, str(error))])
            return
        finally:
            self._opening.discard(to)
        try:
            await self._use(channel, outcome)
        except RookeryError:
            return  # the channel failed, which `ParticipantDisconnected` has reported

    async def _answered(self, to: str, channel: ChannelInterface) -> Outcome:
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await channel.receive()
            if answer is None:
                raise ChannelError("no answer")
            return self._chat.handle(ChatAnswered(to, text(answer[0], "last")))
        except TimeoutError as error:
            channel.fail("timeout")
            raise ChannelError("no answer") from error
        except ProtocolError as error:
            channel.fail(str(error))
            raise

    async def _use(self, channel: ChannelInterface, outcome: Outcome) -> None:
        line = ChatChannel(channel)
        lines = self._lines.setdefault(line.hashname, [])
        lines.append(line)
        self.perform(outcome)
        errors = 0

        def received(packet: Packet) -> None:
            nonlocal errors
            try:
                self._feed(ChatMessageArrived(line.hashname, packet))
            except (DecodeError, ProtocolError):
                errors += 1
                if errors > ERRORS_MAX:
                    raise

        try:
            await line.run(received)
        finally:
            lines.remove(line)
            if not lines:
                del self._lines[line.hashname]
                self._feed(ParticipantDisconnected(line.hashname))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        if self._is_closed:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
