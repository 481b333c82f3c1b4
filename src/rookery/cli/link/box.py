"""`rookery box`: messages that LINK keeps for an endpoint that is away.

They are sealed for the recipient: the keeper sees sender, recipient and size, and no content.
"""

import base64
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

from cyclopts import App, Parameter

from rookery.cli.link.client_endpoint import dialled_link
from rookery.cli.link.options import LINK_OPTIONS, LinkOptions, Target
from rookery.cli.link.target import parse_target
from rookery.cli.runner import run_verb
from rookery.cli.terminal import stdio
from rookery.cli.terminal.exit_codes import FAILED, OK, advice, complain, served_by
from rookery.cli.terminal.options import OUTPUT, Output
from rookery.cli.terminal.payload import whole_payload
from rookery.cli.terminal.screen import print_fields, print_json, print_table, remark
from rookery.errors import RemoteError, UsageError
from rookery.identity.identity import Identity
from rookery.link.channels.box import MESSAGE_SIZE_MAX, message_id, parse_box_id
from rookery.link.channels.box_seal import BoxMessage, seal, unseal
from rookery.runtime.endpoint.channels.box import BoxClient
from rookery.runtime.endpoint.resolve import checked_hashname

app = App(name="box")

Box = Annotated[str, Parameter(name="BOX", help="A box, as `rookery box list` has it.")]


@app.command(
    name="put",
    help="Leave a message with LINK for --to, who may be offline.",
    help_epilogue="Example:  rookery box put keeper.link --to bob.public --data hello --id alice",
)
def put(
    target: Target,
    /,
    *,
    to: Annotated[
        str, Parameter(name="--to", help="Recipient: a LINK with keys, as of `id show --json`.")
    ],
    data: Annotated[
        str,
        Parameter(
            name="--data",
            allow_leading_hyphen=True,
            help="The message: TEXT, @FILE, or - for stdin.",
        ),
    ],
    lifetime_s: Annotated[
        int | None, Parameter(name="--lifetime", help="Seconds to keep it; else as the keeper has.")
    ] = None,
    link_options: LinkOptions = LINK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    async def work() -> int:
        keeper, recipient = parse_target(target), parse_target(to)
        hashname = checked_hashname(recipient)
        content = await whole_payload(data, MESSAGE_SIZE_MAX)
        async with _client(target, link_options) as (client, identity):
            with advice("give --to a link with keys, as `rookery id show --json` prints"):
                sealed = seal(identity, recipient.keys, content, int(time.time()), os.urandom)
            id_ = await client.put(hashname, sealed, lifetime_s)
        shown = {"message": id_.hex(), "to": hashname, "keeper": checked_hashname(keeper)}
        if output.json:
            print_json(shown)
        else:
            print_fields(shown.items())
        return OK

    return run_verb(work())


@app.command(
    name="list",
    help="List what LINK keeps for us.",
    help_epilogue="Example:  rookery box list keeper.link --id bob",
)
def list_(
    target: Target, /, *, link_options: LinkOptions = LINK_OPTIONS, output: Output = OUTPUT
) -> int:
    _check_recipient(link_options)

    async def work() -> int:
        async with _client(target, link_options) as (client, identity):
            kept = [kept async for kept in _kept(client, identity, None)]
        if output.json:
            for item in kept:
                print_json(item.json())
        elif kept:
            columns = ("box", "message", "from", "bytes", "sent")
            print_table(columns, [item.row() for item in kept])
        else:
            remark("nothing is waiting")
        return OK

    return run_verb(work())


@app.command(
    name="get",
    help="Print what LINK keeps for us, oldest first; it stays there unless --delete.",
    help_epilogue="Example:  rookery box get keeper.link --id bob --delete",
)
def get(
    target: Target,
    box: Box | None = None,
    /,
    *,
    delete: Annotated[
        bool,
        Parameter(
            name="--delete",
            negative="",
            show_default=False,
            help="Have the keeper forget what was printed.",
        ),
    ] = False,
    link_options: LinkOptions = LINK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    _check_recipient(link_options)
    wanted = None if box is None else parse_box_id(box)

    async def work() -> int:
        code = OK
        async with _client(target, link_options) as (client, identity):
            async for item in _kept(client, identity, wanted):
                if item.letter is None:
                    complain(f"message {item.id.hex()} cannot be read; delete it with: box delete")
                    code = FAILED
                    continue
                await item.print(output)
                if delete:
                    await client.forget(item.box, [item.id])
        return code

    return run_verb(work())


@app.command(
    name="delete",
    help="Have LINK forget messages for us, or all of a box.",
    help_epilogue="Example:  rookery box delete keeper.link 0123456789abcdef --id bob",
)
def delete(
    target: Target,
    box: Box,
    /,
    *messages: Annotated[str, Parameter(name="MESSAGE", help="Which; without any, all of BOX.")],
    link_options: LinkOptions = LINK_OPTIONS,
    output: Output = OUTPUT,
) -> int:
    _check_recipient(link_options)
    box_id, ids = parse_box_id(box), [parse_box_id(text) for text in messages]

    async def work() -> int:
        async with _client(target, link_options) as (client, _):
            await client.forget(box_id, ids or None)
        if output.json:
            print_json({"box": box, "deleted": list(messages) or "all"})
        return OK

    return run_verb(work())


@dataclass(frozen=True)
class _KeptMessage:
    """A message as it was fetched; no letter when it cannot be opened."""

    box: bytes
    id: bytes
    size: int
    letter: BoxMessage | None

    def json(self) -> dict[str, object]:
        found: dict[str, object] = {"box": self.box.hex(), "message": self.id.hex()}
        if self.letter is None:
            return {**found, "bytes": self.size}
        size = len(self.letter.content)
        return {**found, "from": self.letter.sender, "at": self.letter.at, "bytes": size}

    def row(self) -> tuple[str, ...]:
        if self.letter is None:
            return self.box.hex(), self.id.hex(), "unreadable", str(self.size), ""
        sent = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.letter.at))
        size = str(len(self.letter.content))
        return self.box.hex(), self.id.hex(), self.letter.sender[:8], size, sent

    async def print(self, output: Output) -> None:
        assert self.letter is not None
        content = self.letter.content
        if not output.json:
            await stdio.write(content if content.endswith(b"\n") else content + b"\n")
            return
        try:
            print_json({**self.json(), "content": content.decode()})
        except UnicodeDecodeError:
            print_json({**self.json(), "content_base64": base64.b64encode(content).decode()})


@asynccontextmanager
async def _client(
    target: str, link_options: LinkOptions
) -> AsyncIterator[tuple[BoxClient, Identity]]:
    async with dialled_link(parse_target(target), link_options) as link:
        with served_by(link.hashname[:8], "--box"):
            yield link.box, link.endpoint.identity


async def _kept(
    client: BoxClient, identity: Identity, wanted: bytes | None
) -> AsyncIterator[_KeptMessage]:
    for box in await client.waiting() if wanted is None else [wanted]:
        for message in await client.get(box):
            try:
                letter = unseal(identity, message)
            except RemoteError:
                letter = None
            yield _KeptMessage(box, message_id(box, message), len(message), letter)


def _check_recipient(link_options: LinkOptions) -> None:
    if link_options.identity is None:
        raise UsageError("whose box? give --id DIR, the keys that messages were left for")
