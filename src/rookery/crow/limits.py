"""How far a tower and its nodes may grow."""

import msgspec


class DeliveryLimits(msgspec.Struct, frozen=True):
    """How much may be under way; a C++ peer fails when 64 packets are alive at once."""

    unacked_max: int = 32  # per address
    queued_max: int = 1024  # per address
    addresses_max: int = 16384


class DuplicateLimits(msgspec.Struct, frozen=True):
    """How far strangers can make the memory of QoS 2 grow."""

    remembered_max: int = 16384
    per_source_max: int = 4096  # fewer than there are numbers, or a sender could run out of them
    share: int = 64  # what a source keeps when others need room
    unconfirmed_per_source_max: int = 128


class TowerLimits(msgspec.Struct, frozen=True):
    """The limits of all parts of a tower."""

    delivery: DeliveryLimits = DeliveryLimits()
    duplicates: DuplicateLimits = DuplicateLimits()


class ChunkLimits(msgspec.Struct, frozen=True):
    """How far strangers can make the memory of split messages grow."""

    messages_max: int = 256  # incomplete, or complete and not yet forgotten
    per_source_max: int = 16
    bytes_max: int = 4 << 20


class NodeLimits(msgspec.Struct, frozen=True):
    """How far strangers can make the nodes grow."""

    chunks: ChunkLimits = ChunkLimits()
