"""Devices that belong to an account."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.errors import DeniedError, UsageError
from rookery.store.database.database import Database
from rookery.store.database.rows import AnyRow, columns, parse_row
from rookery.store.database.tables import device

NAME_SIZE_MAX = 64
PAGE = 1000

_BATCH_MAX = 500  # databases bound how many values a statement has


class Device(msgspec.Struct, frozen=True):
    """A device and its owner."""

    mac: bytes
    owner: int  # an account
    name: str
    claimed_at: float  # wall seconds


_COLUMNS = columns(device, Device)


class Devices:
    """A device has one owner or none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, mac: bytes, owner: int, name: str, *, now: float) -> Device:
        """DeniedError if another account owns it; a device that is owned already stays as it is."""
        wanted = Device(mac, owner, _name(name), now)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(insert(device).values(msgspec.structs.asdict(wanted)))

        try:
            await self._database.write(work)
        except IntegrityError:
            known = await self.find(mac)
            if known is None or known.owner != owner:
                raise DeniedError("this device belongs to somebody else") from None
            return known
        return wanted

    async def find(self, mac: bytes) -> Device | None:
        async def work(connection: AsyncConnection) -> Device | None:
            query = select(*_COLUMNS).where(device.c.mac == mac)
            row = (await connection.execute(query)).one_or_none()
            return _device(row) if row else None

        return await self._database.read(work)

    async def of(self, owner: int) -> list[Device]:
        """All of an account, by name."""
        query = select(*_COLUMNS).where(device.c.owner == owner)

        async def work(connection: AsyncConnection) -> list[Device]:
            rows = await connection.execute(query.order_by(device.c.name, device.c.mac))
            return [_device(row) for row in rows]

        return await self._database.read(work)

    async def some(self, macs: Sequence[bytes]) -> dict[bytes, Device]:
        """Those of these devices that have an owner."""
        portions = [macs[start : start + _BATCH_MAX] for start in range(0, len(macs), _BATCH_MAX)]

        async def work(connection: AsyncConnection) -> dict[bytes, Device]:
            found: dict[bytes, Device] = {}
            for portion in portions:
                query = select(*_COLUMNS).where(device.c.mac.in_(portion))
                found.update((row.mac, _device(row)) for row in await connection.execute(query))
            return found

        return await self._database.read(work) if portions else {}

    async def matching(
        self, *, text: str = "", owner: int | None = None, limit: int = 10 * PAGE
    ) -> set[bytes]:
        """MAC addresses of one owner's devices with this text in their name, ignoring case."""
        query = select(device.c.mac).order_by(device.c.mac).limit(limit)
        if text:
            query = query.where(func.lower(device.c.name).contains(text.lower(), autoescape=True))
        if owner is not None:
            query = query.where(device.c.owner == owner)

        async def work(connection: AsyncConnection) -> set[bytes]:
            return {bytes(mac) for mac in await connection.scalars(query)}

        return await self._database.read(work)

    async def all(self, *, after: bytes = b"", limit: int = PAGE) -> list[Device]:
        """Devices of all owners in order of MAC addresses, after this one."""
        query = select(*_COLUMNS).where(device.c.mac > after).order_by(device.c.mac).limit(limit)

        async def work(connection: AsyncConnection) -> list[Device]:
            return [_device(row) for row in await connection.execute(query)]

        return await self._database.read(work)

    async def count(self, owner: int) -> int:
        query = select(func.count()).select_from(device).where(device.c.owner == owner)

        async def work(connection: AsyncConnection) -> int:
            return int(await connection.scalar(query) or 0)

        return await self._database.read(work)

    async def rename(self, mac: bytes, owner: int, name: str) -> bool:
        """False when it is not this account's."""
        statement = update(device).where(device.c.mac == mac, device.c.owner == owner)
        values = {"name": _name(name)}

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement.values(values))).rowcount > 0

        return await self._database.write(work)

    async def release(self, mac: bytes, owner: int) -> bool:
        """Give the device up, so that others may claim it; False if the account does not own it."""
        statement = delete(device).where(device.c.mac == mac, device.c.owner == owner)

        async def work(connection: AsyncConnection) -> bool:
            return (await connection.execute(statement)).rowcount > 0

        return await self._database.write(work)


def _name(name: str) -> str:
    if len(name) > NAME_SIZE_MAX or not name.isprintable():
        raise UsageError(f"a device's name has at most {NAME_SIZE_MAX} printable characters")
    return name


def _device(row: AnyRow) -> Device:
    return parse_row(row, Device)
