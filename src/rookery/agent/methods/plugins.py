"""Plug-ins: methods that other installed packages add to this agent's.

    [project.entry-points."rookery.agent_methods"]
    "relay.toggle" = "my_package.relay:toggle"

The name is the method's, the value an `async def` with typed parameters and a docstring, as those
of `rookery.agent.methods` are. One that cannot be loaded is logged and left out.
"""

import inspect
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from rookery.fleet.rpc.dispatcher import Handler

GROUP = "rookery.agent_methods"

_FAMILIES = ("system", "net", "config", "exec", "rpc")


class AgentPlugins(NamedTuple):
    """What was found, and a line about each that is left out."""

    methods: dict[str, Handler]
    problems: list[str]


def load(paths: Iterable[str] | None = None) -> AgentPlugins:
    """The plug-ins installed in these folders, else on the path of this program."""
    found = AgentPlugins({}, [])
    folders = list(sys.path if paths is None else paths)
    if not any(_names_group(folder) for folder in folders):
        return found  # nearly always; and what reads entry points takes two megabytes
    from importlib.metadata import distributions

    for distribution in distributions(path=folders):
        for point in distribution.entry_points:
            if point.group != GROUP:
                continue
            try:
                found.methods[point.name] = _checked(point.name, point.load(), found.methods)
            except Exception as error:  # third-party code may raise anything
                found.problems.append(f"plug-in {point.name} ({point.value}): {error}")
    return found


def _names_group(folder: str) -> bool:
    for file in Path(folder or ".").glob("*.dist-info/entry_points.txt"):
        try:
            if GROUP in file.read_text(errors="replace"):
                return True
        except OSError:
            continue
    return False


def _checked(name: str, method: object, known: Collection[str]) -> Handler:
    if name.partition(".")[0] in _FAMILIES:
        raise ValueError("its name is one of the agent's own")
    if name in known:
        raise ValueError("another plug-in has this name")
    if not inspect.iscoroutinefunction(method):
        raise ValueError("it is no async function")
    return method
