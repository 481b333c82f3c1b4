"""A method and its signature: how its parameters are read, and how OpenRPC describes it."""

from collections.abc import Callable, Collection
from inspect import Parameter, getdoc, signature
from typing import Self, get_type_hints

import msgspec

from rookery.errors import UsageError
from rookery.fleet.rpc.message import INVALID_PARAMS, RpcError

OPEN_RPC_VERSION = "1.3.2"

_UNSET = msgspec.UNSET
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_ORDINARY = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class RpcArgument(msgspec.Struct, frozen=True):
    name: str
    type: object
    is_required: bool


class RpcMethod:
    """Calls its function with parameters that fit, by position or by name."""

    __slots__ = ("_by_name", "_by_position", "_function", "arguments", "name", "result", "summary")

    def __init__(
        self,
        name: str,
        function: Callable[..., object],
        arguments: tuple[RpcArgument, ...],
        result: object,
    ) -> None:
        self.name, self.arguments, self.result = name, arguments, result
        self.summary = (getdoc(function) or "").partition("\n")[0]
        self._function = function
        self._by_name = msgspec.json.Decoder(_struct(name, arguments, is_array=False))
        self._by_position = msgspec.json.Decoder(_struct(name, arguments, is_array=True))

    @classmethod
    def of(cls, name: str, function: Callable[..., object]) -> Self:
        """Read the signature; UsageError when its types do not say enough."""
        try:
            hints = get_type_hints(function, include_extras=True)
            parameters = signature(function).parameters.values()
            for parameter in parameters:
                if parameter.kind not in _ORDINARY:
                    raise UsageError(f"{name}: {parameter.name} cannot be given by name")
            arguments = tuple(
                RpcArgument(each.name, hints[each.name], each.default is Parameter.empty)
                for each in parameters
            )
            method = cls(name, function, arguments, hints["return"])
            _schemas(_types(method))
        except (KeyError, NameError, NotImplementedError, TypeError, ValueError) as error:
            raise UsageError(f"{name} needs types that JSON can tell: {error}") from error
        return method

    def call(self, params: bytes | None) -> object:
        """The function's result; RpcError where the parameters do not fit it."""
        decoder = self._by_position if params is not None and params[0] in b"[" else self._by_name
        try:
            params_struct = decoder.decode(b"{}" if params is None else params)
        except _UNDECODABLE as error:
            raise RpcError(INVALID_PARAMS, data=str(error)) from error
        values = ((each.name, getattr(params_struct, each.name)) for each in self.arguments)
        # What was left out is left to the function's own defaults.
        return self._function(**{name: value for name, value in values if value is not _UNSET})


def _struct(
    name: str, arguments: tuple[RpcArgument, ...], *, is_array: bool
) -> type[msgspec.Struct]:
    fields = [
        (each.name, each.type)
        if each.is_required
        else (each.name, each.type | msgspec.UnsetType, _UNSET)
        for each in arguments
    ]
    return msgspec.defstruct(
        name.replace(".", "_"), fields, array_like=is_array, forbid_unknown_fields=True
    )


def open_rpc(title: str, version: str, methods: Collection[RpcMethod]) -> dict[str, object]:
    """The OpenRPC document of these methods."""
    types = [kind for method in methods for kind in _types(method)]
    schemas, components = _schemas(types)
    of_type = iter(schemas)
    return {
        "openrpc": OPEN_RPC_VERSION,
        "info": {"title": title, "version": version},
        "methods": [
            _described(method, [next(of_type) for _ in _types(method)]) for method in methods
        ],
        "components": {"schemas": components},
    }


def _schemas(
    types: list[object],
) -> tuple[tuple[dict[str, object], ...], dict[str, object]]:
    return msgspec.json.schema_components(
        types, schema_hook=_anything, ref_template="#/components/schemas/{name}"
    )


def _anything(kind: type) -> dict[str, object]:
    if kind is object:
        return {"description": "Any JSON value."}  # an empty schema counts as none
    raise NotImplementedError


def _types(method: RpcMethod) -> list[object]:
    return [*(each.type for each in method.arguments), method.result]


def _described(method: RpcMethod, schemas: list[dict[str, object]]) -> dict[str, object]:
    *of_arguments, of_result = schemas
    described: dict[str, object] = {
        "name": method.name,
        "params": [
            {"name": each.name, "required": each.is_required, "schema": schema}
            for each, schema in zip(method.arguments, of_arguments, strict=True)
        ],
        "paramStructure": "either",
        "result": {"name": "result", "schema": of_result},
    }
    if method.summary:
        described["summary"] = method.summary
    return described
