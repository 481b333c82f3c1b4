"""Report desk: where reports and hellos arrive at the hub. Decides; fetches and sends nothing.

    datagram ─read─▶ Incoming ─(entry, code, wish)─receive─▶ Outcome

Both are called for every datagram of a hundred thousand routers, so the way of a good report is
straight, and everything else turns off it early.
"""

from rookery.fleet.code import Code
from rookery.fleet.desk_settings import DeskSettings
from rookery.fleet.entry import Entry
from rookery.fleet.report_outcome import Incoming, Outcome
from rookery.identity.cipher_set import RandomBytes
from rookery.identity.identity import Identity
from rookery.wire.observation import Observation


class ReportDesk:
    """One for a hub process; hubs with the same master and identity are the same to reporters."""

    def __init__(
        self,
        identity: Identity,
        master: bytes,
        random: RandomBytes,
        now: float,
        settings: DeskSettings = DeskSettings(),  # noqa: B008 - frozen
    ) -> None: ...

    def read(self, datagram: bytes, address: str, now: float) -> Incoming | None:
        """What it is, or None: counted and dropped. `address` is `ip:port`, `now` wall seconds."""
        raise NotImplementedError

    def receive(
        self,
        incoming: Incoming,
        entry: Entry | None,
        code: Code | None,
        wish: int | None,
        now: float,
    ) -> Outcome:
        """Decide; `entry` is changed in place. `code` is needed only where there is no entry."""
        raise NotImplementedError

    def undo(self, incoming: Incoming, entry: Entry) -> None:
        """The spool did not take a new report: it must be able to come again."""

    def restore(self, observation: Observation, entry: Entry | None) -> Entry | None:
        """What an observation in the spool says of a reporter, after a crash."""
        raise NotImplementedError

    def is_claimed(self, entry: Entry, typed: str, now: float) -> bool:
        """Whether `typed` is the claim code that the router's agent shows."""
        raise NotImplementedError
