"""Sends notifications of alerts: deliveries in the database are retried until sent or given up.

    delivery ──▶ webhook or mail ──▶ delivered
        ▲             │ failed: after 5 s, 10 s, 20 s … an hour
        └─────────────┘ after twelve attempts: given up, noted in the alert

At least once: a hub that dies before it stores the success sends again, with the same key. Only
the hub with the lease of alerting sends.
"""

import asyncio
import logging

import msgspec

from rookery.errors import UnreachableError
from rookery.store.alerts.deliveries import AlertDeliveries, AlertDelivery
from rookery.store.alerts.writer import AlertNotice
from rookery.web.alerts import mail
from rookery.web.alerts import webhook as alert_webhook
from rookery.web.alerts.settings import MAIL, AlertSettings

CONCURRENT_MAX = 4

_log = logging.getLogger(__name__)
_notices = msgspec.json.Decoder(AlertNotice)


class AlertSender:
    """`send_due` sends deliveries; all state is in the database."""

    def __init__(self, deliveries: AlertDeliveries, settings: AlertSettings) -> None:
        self._deliveries = deliveries
        self._settings = settings
        self._webhooks = {each.channel: each for each in settings.webhooks}
        self._turns = asyncio.Semaphore(CONCURRENT_MAX)
        self.delivered = 0
        self.failures = 0

    async def send_due(self, now: float) -> int:
        """Try all due deliveries; returns their number."""
        channels = self._settings.channels
        if not channels:
            return 0
        due = await self._deliveries.due(channels, now=now)
        async with asyncio.TaskGroup() as group:
            for delivery in due:
                group.create_task(self._try(delivery, now))
        return len(due)

    async def _try(self, delivery: AlertDelivery, now: float) -> None:
        async with self._turns:
            try:
                said = await self._send(delivery, now)
            except UnreachableError as error:
                await self._failed(delivery, now, str(error))
                return
        self.delivered += 1
        text = f"{delivery.event} by {delivery.channel}: {said}"
        await self._deliveries.done(delivery, now=now, text=text)

    async def _send(self, delivery: AlertDelivery, now: float) -> str:
        timeout_s = self._settings.try_s
        if delivery.channel == MAIL:
            mailbox = self._settings.mailbox
            assert mailbox is not None, "only configured channels are due"
            notice = _notices.decode(delivery.body)
            return await mail.send(mailbox, notice, timeout_s=timeout_s)
        webhook, body = self._webhooks[delivery.channel], delivery.body.encode()
        return await alert_webhook.post(webhook, delivery.key, body, now=now, timeout_s=timeout_s)

    async def _failed(self, delivery: AlertDelivery, now: float, why: str) -> None:
        self.failures += 1
        settings = self._settings
        if delivery.attempts + 1 >= settings.attempts_max:
            text = f"{delivery.event} by {delivery.channel}: {why}"
            _log.error("an alert is not sent, after %d attempts: %s", settings.attempts_max, text)
            await self._deliveries.given_up(delivery, now=now, text=text)
            return
        if delivery.attempts == 0:
            _log.warning("sending an alert by %s failed: %s", delivery.channel, why)
        pause_s = min(settings.retry_s * 2**delivery.attempts, settings.retry_s_max)
        await self._deliveries.failed(delivery, due_at=now + pause_s)
