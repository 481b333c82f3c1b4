"""Signatures that can be served, and those that cannot."""

from collections.abc import Callable

import pytest

from rookery.errors import UsageError
from rookery.fleet.rpc.message import RpcError
from rookery.fleet.rpc.method import RpcMethod


class Unheard:
    """Nothing that JSON knows."""


def untyped(value) -> int:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return int(value)


def unfinished(value: int):  # type: ignore[no-untyped-def]  # noqa: ANN201
    return value


def any_number(*values: int) -> int:
    return sum(values)


def any_names(**values: int) -> int:
    return sum(values.values())


def only_by_position(value: int, /) -> int:
    return value


def unheard(value: Unheard) -> int:
    return 1


def nowhere(value: "Nowhere") -> int:  # type: ignore[name-defined]  # noqa: F821
    return 1


@pytest.mark.parametrize(
    "function",
    [untyped, unfinished, any_number, any_names, only_by_position, unheard, nowhere],
)
def test_a_signature_must_say_what_to_give(function: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match=r"^x\.y"):
        RpcMethod.of("x.y", function)


def test_any_json_value_is_a_type_as_well() -> None:
    def same(value: object) -> object:
        return value

    method = RpcMethod.of("same", same)
    assert method.call(b'[{"a":[1]}]') == method.call(b'{"value":{"a":[1]}}') == {"a": [1]}


def test_numbers_that_fit_nothing_are_invalid_parameters() -> None:
    def same(value: float) -> float:
        return value

    with pytest.raises(RpcError, match="Invalid params"):
        RpcMethod.of("same", same).call(b"[1e999]")
