"""Which parsers the sources have, by their names and what they take."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "rookery"
PACKAGES = (
    "wire",
    "identity",
    "link",
    "crow",
    "mesh",
    "outbox",
    "fleet",
    "runtime",
    "store",
    "web/accounts/factors",
)

_NAME = re.compile(r"(?:parse|decode|read|feed|reveal|unseal|from_bytes|of_json|unpack)(?:_\w+)?")
_OPEN = re.compile(r"open(?:_\w+)?")
_OCTETS = {"bytes", "Octets", "memoryview"}
_VALUES = {*_OCTETS, "str", "object", "JsonObject", "Mapping[str, object]"}


def parsers() -> set[str]:
    """Each as `package.module:Class.function`."""
    files = [path for package in PACKAGES for path in (SOURCES / package).rglob("*.py")]
    return {
        f"{'.'.join(path.relative_to(SOURCES).with_suffix('').parts)}:{name}"
        for path in files
        for name in _in_body(ast.parse(path.read_text()).body, "")
    }


def _in_body(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _in_body(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef) and _is_parser(node):
            yield prefix + node.name


def _is_parser(node: ast.FunctionDef) -> bool:
    if node.returns is not None and ast.unparse(node.returns) == "None":
        return False
    arguments = [*node.args.posonlyargs, *node.args.args]
    types = [ast.unparse(each.annotation) for each in arguments if each.annotation is not None]
    taken = {part.strip() for each in types for part in each.split("|")}
    if _OPEN.fullmatch(node.name):  # opens what is sealed; others open channels and files
        return bool(taken & _OCTETS) and not taken & (_VALUES - _OCTETS)
    return _NAME.fullmatch(node.name) is not None and bool(taken & _VALUES)
