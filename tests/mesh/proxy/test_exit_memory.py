"""M8: exits are asked by cost and load; success sticks and failure is remembered."""

from rookery.link.channels.sock import SockProtocol
from rookery.mesh.proxy.exit_memory import ENTRIES_MAX, FAILURE_S, SUCCESS_S, Exit, ExitMemory
from rookery.mesh.proxy.fault import ProxyFault
from rookery.mesh.proxy.opening import NetTarget, SerialTarget

WEB = NetTarget(SockProtocol.TCP, "www.example.org", 443)
OTHER = NetTarget(SockProtocol.TCP, "other.example", 443)
EXITS = [
    Exit("far", ("exit",), 90_000),
    Exit("near", ("exit:tcp/443",), 10_000),
    Exit("middle", ("hub", "exit:tcp"), 20_000),
    Exit("mail", ("exit:tcp/25",), 1),
    Exit("line", ("serial:meter",), 1),
]


def test_only_those_are_asked_that_offer_it_and_the_cheapest_first() -> None:
    memory = ExitMemory()
    assert memory.order(WEB, EXITS, 0.0) == ["near", "middle", "far"]
    assert memory.order(SerialTarget("meter"), EXITS, 0.0) == ["line"]
    assert memory.order(SerialTarget("modem"), EXITS, 0.0) == []


def test_a_full_exit_counts_as_farther_until_that_is_old_news() -> None:
    memory = ExitMemory()
    memory.loaded("near", 200, 0.0)
    assert memory.order(WEB, EXITS, 1.0) == ["middle", "near", "far"]
    assert memory.order(WEB, EXITS, 100.0) == ["near", "middle", "far"]


def test_success_sticks_for_ten_minutes_to_its_target() -> None:
    memory = ExitMemory()
    memory.succeeded(WEB, "far", 0.0)
    assert memory.order(WEB, EXITS, SUCCESS_S - 1)[0] == "far"
    assert memory.order(OTHER, EXITS, 1.0)[0] == "near"
    assert memory.order(WEB, EXITS, SUCCESS_S)[0] == "near"


def test_failure_is_remembered_for_a_minute_and_puts_the_exit_last() -> None:
    memory = ExitMemory()
    memory.failed(WEB, "near", ProxyFault.REFUSED, 0.0)
    assert memory.order(WEB, EXITS, FAILURE_S - 1) == ["middle", "far", "near"]
    assert memory.failure(WEB, "near", 1.0) is ProxyFault.REFUSED
    assert memory.order(OTHER, EXITS, 1.0)[0] == "near"
    assert memory.order(WEB, EXITS, FAILURE_S)[0] == "near"


def test_an_exit_that_is_silent_or_full_is_last_for_everything() -> None:
    memory = ExitMemory()
    memory.silent(WEB, "near", 0.0)
    memory.failed(WEB, "middle", ProxyFault.BUSY, 0.0)
    assert memory.order(OTHER, EXITS, 1.0) == ["far", "near", "middle"]


def test_the_last_word_counts() -> None:
    memory = ExitMemory()
    memory.succeeded(WEB, "far", 0.0)
    memory.failed(WEB, "far", ProxyFault.GONE, 1.0)
    assert memory.order(WEB, EXITS, 2.0) == ["near", "middle", "far"]
    memory.succeeded(WEB, "far", 3.0)
    assert memory.order(WEB, EXITS, 4.0) == ["far", "near", "middle"]
    memory.silent(WEB, "far", 5.0)
    memory.succeeded(OTHER, "far", 6.0)
    assert memory.failure(WEB, "far", 7.0) is None


def test_a_failure_of_another_leaves_the_success_alone() -> None:
    memory = ExitMemory()
    memory.succeeded(WEB, "far", 0.0)
    memory.failed(WEB, "near", ProxyFault.REFUSED, 0.0)
    assert memory.order(WEB, EXITS, 1.0) == ["far", "middle", "near"]


def test_a_named_list_keeps_its_order() -> None:
    memory = ExitMemory()
    assert memory.arrange(WEB, ["c", "a", "b", "a"], 0.0) == ["c", "a", "b"]
    memory.failed(WEB, "c", ProxyFault.DNS, 0.0)
    assert memory.arrange(WEB, ["c", "a", "b"], 1.0) == ["a", "b", "c"]


def test_whatever_is_asked_for_the_memory_stays_small() -> None:
    memory = ExitMemory()
    for number in range(3 * ENTRIES_MAX):
        target = NetTarget(SockProtocol.TCP, f"host{number}", 443)
        memory.succeeded(target, "far", float(number))
        memory.failed(target, "near", ProxyFault.REFUSED, float(number))
        memory.loaded(f"exit{number}", 1, float(number))
    assert memory.size <= 3 * ENTRIES_MAX
    assert memory.order(target, EXITS, float(number)) == ["far", "middle", "near"]
