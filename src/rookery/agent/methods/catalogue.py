"""All methods of an agent by name, ready to be dispatched."""

import logging

from rookery.agent.methods import net, plugins, system
from rookery.agent.methods.config import ConfigFile
from rookery.agent.methods.exec import ExecAllowList, ExecRunner
from rookery.errors import UsageError
from rookery.fleet.rpc.dispatcher import Dispatcher
from rookery.runtime.version import installed_version

TITLE = "rookery agent"

_log = logging.getLogger(__name__)


def dispatcher(config: ConfigFile, allowed: ExecAllowList) -> Dispatcher:
    """Our own methods and those of plug-ins; a broken plug-in is a line in the log."""
    made = Dispatcher(
        {
            "system.info": system.info,
            "system.uptime": system.uptime,
            "system.processes": system.processes,
            "net.interfaces": net.interfaces,
            "net.routes": net.routes,
            "net.resolve": net.resolve,
            "net.ping": net.ping,
            "config.get": config.get,
            "config.set": config.set,
            "exec": ExecRunner(allowed).exec,
        },
        title=TITLE,
        version=installed_version(),
        crashed=_crashed,
    )
    found = plugins.load()
    for name, handler in found.methods.items():
        try:
            made.add(name, handler)
        except UsageError as error:
            found.problems.append(f"plug-in {name}: {error}")
    for problem in found.problems:
        _log.warning("%s; it is left out", problem)
    return made


def _crashed(method: str, error: Exception) -> None:
    _log.error("method %s failed unexpectedly", method, exc_info=error)
