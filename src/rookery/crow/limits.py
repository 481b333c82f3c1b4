"""How far a tower, its nodes and a broker may grow."""

import msgspec

from rookery.errors import UsageError


class DeliveryLimits(msgspec.Struct, frozen=True):
    """How much may be in flight; a C++ peer fails when 64 packets are alive at once."""

    unacked_max: int = 32  # per address
    queued_max: int = 1024  # per address
    addresses_max: int = 16384


class DuplicateLimits(msgspec.Struct, frozen=True):
    """How far strangers can make the memory of QoS 2 grow."""

    remembered_max: int = 16384
    per_source_max: int = 4096  # fewer than there are numbers, or a sender could run out of them
    share: int = 64  # what a source keeps when others need room
    unconfirmed_per_source_max: int = 128


class AddressValidationLimits(msgspec.Struct, frozen=True):
    """How much is held for addresses that are not proven."""

    addresses_max: int = 16384  # unproven, and as many proven
    held_per_address_max: int = 1 << 18  # bytes
    held_max: int = 1 << 23


class TowerLimits(msgspec.Struct, frozen=True):
    """The limits of all parts of a tower."""

    delivery: DeliveryLimits = DeliveryLimits()
    duplicates: DuplicateLimits = DuplicateLimits()
    address_validation: AddressValidationLimits = AddressValidationLimits()


class ReassemblyLimits(msgspec.Struct, frozen=True):
    """How far strangers can make the memory of split messages grow."""

    messages_max: int = 256  # incomplete, or complete and not yet forgotten
    per_source_max: int = 16
    bytes_max: int = 4 << 20


class NodeLimits(msgspec.Struct, frozen=True):
    """How far strangers can make the nodes grow."""

    chunks: ReassemblyLimits = ReassemblyLimits()


class ThemeLimits(msgspec.Struct, frozen=True):
    """How much is remembered."""

    themes_max: int = 10_000
    messages: int = 1000  # remembered per theme, unless set otherwise for one
    messages_max: int = 100_000  # what it may be set to
    theme_bytes_max: int = 1 << 22
    bytes_max: int = 1 << 26

    def __post_init__(self) -> None:
        if min(getattr(self, name) for name in self.__struct_fields__) < 1:
            raise UsageError("every limit of a broker's themes is at least 1")


class ClientLimits(msgspec.Struct, frozen=True):
    """How many may subscribe to how much."""

    clients_max: int = 10_000
    client_themes_max: int = 1024
    subscriptions_max: int = 100_000

    def __post_init__(self) -> None:
        if min(getattr(self, name) for name in self.__struct_fields__) < 1:
            raise UsageError("every limit of a broker's clients is at least 1")


class BrokerLimits(msgspec.Struct, frozen=True):
    """How far others can make the broker grow."""

    themes: ThemeLimits = ThemeLimits()
    clients: ClientLimits = ClientLimits()
    patterns_max: int = 4096
    latest_max: int = 1000  # messages that one request for the latest calls up
    latest_bytes_max: int = 1 << 20
