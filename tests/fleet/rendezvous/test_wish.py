from typing import get_args

import msgspec

from rookery.fleet.rendezvous.wish import Grant, Wish, WishStep, WishStepName

GRANT = Grant("seat", "ticket", "server", "192.0.2.1:7", "ws://x/rpc", b"k", b"d", 60, "02:…")


def test_steps_and_wishes_survive_a_store() -> None:
    """F7: the hub remembers the wish, and several hubs share it."""
    wish = Wish(2**64 - 1, bytes(6), "ann", 1.5, "hub")
    step = WishStep(wish.id, "done", "Go.", 2.5, "server", "the only one", GRANT)
    for value in (wish, step):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=type(value)) == value


def test_nothing_follows_done_and_failed() -> None:
    names: tuple[WishStepName, ...] = get_args(WishStepName)
    last = [name for name in names if WishStep(1, name, "", 0).is_last]
    assert last == ["done", "failed"]


def test_a_grant_does_not_show_its_ticket() -> None:
    assert "ticket" not in repr(WishStep(1, "done", "", 0, grant=GRANT))
