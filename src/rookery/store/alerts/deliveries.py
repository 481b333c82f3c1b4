"""Deliveries of alerts: notifications that wait to be sent, until they succeed or are given up."""

from collections.abc import Collection

import msgspec
from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from rookery.store.alerts.alerts import add_event
from rookery.store.database.database import Database
from rookery.store.database.rows import columns, parse_row
from rookery.store.database.tables import alert_delivery

_SCANNED_MAX = 200


class AlertDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """One notification for one channel."""

    id: int
    key: str
    alert: int
    channel: str
    event: str
    body: str
    attempts: int
    due_at: float


_COLUMNS = columns(alert_delivery, AlertDelivery)


class AlertDeliveries:
    """Ordered by event; notifications of one alert do not overtake each other."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def due(self, channels: Collection[str], *, now: float) -> list[AlertDelivery]:
        """Those that may be tried now; of each alert and channel the oldest at most."""
        query = select(*_COLUMNS).where(alert_delivery.c.channel.in_(list(channels)))

        async def work(connection: AsyncConnection) -> list[AlertDelivery]:
            ordered = query.order_by(alert_delivery.c.id).limit(_SCANNED_MAX)
            return [parse_row(row, AlertDelivery) for row in await connection.execute(ordered)]

        first: dict[tuple[int, str], AlertDelivery] = {}
        for delivery in await self._database.read(work):
            first.setdefault((delivery.alert, delivery.channel), delivery)
        return [each for each in first.values() if each.due_at <= now]

    async def done(self, delivery: AlertDelivery, *, now: float, text: str) -> None:
        """The channel has accepted it."""

        async def work(connection: AsyncConnection) -> None:
            row = delete(alert_delivery).where(alert_delivery.c.id == delivery.id)
            if (await connection.execute(row)).rowcount:
                await add_event(connection, delivery.alert, "told", now=now, text=text)

        await self._database.write(work)

    async def failed(self, delivery: AlertDelivery, *, due_at: float) -> None:
        """Once more, later."""
        row = update(alert_delivery).where(alert_delivery.c.id == delivery.id)

        async def work(connection: AsyncConnection) -> None:
            await connection.execute(row.values(attempts=delivery.attempts + 1, due_at=due_at))

        await self._database.write(work)

    async def given_up(self, delivery: AlertDelivery, *, now: float, text: str) -> None:
        """Give it up."""

        async def work(connection: AsyncConnection) -> None:
            row = delete(alert_delivery).where(alert_delivery.c.id == delivery.id)
            if (await connection.execute(row)).rowcount:
                await add_event(connection, delivery.alert, "untold", now=now, text=text)

        await self._database.write(work)

    async def waiting(self) -> int:
        """How many there are."""
        query = select(func.count()).select_from(alert_delivery)

        async def work(connection: AsyncConnection) -> int:
            return int(await connection.scalar(query) or 0)

        return await self._database.read(work)
