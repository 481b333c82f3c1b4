"""The verbs of the program and of its groups, as in `rookery crow send`: imported when called."""

from collections.abc import Iterable
from typing import NamedTuple

from cyclopts import App

_GROUP = ":app"  # a verb of verbs; those have examples of their own


class CliVerb(NamedTuple):
    name: str
    function: str  # "module:function" below rookery.cli
    help: str
    example: str
    remark: str = ""


def group(name: str, verbs: Iterable[CliVerb]) -> App:
    """A verb that consists of others."""
    app = App(name=name)
    add_verbs(app, verbs)
    return app


def add_verbs(app: App, verbs: Iterable[CliVerb]) -> None:
    """Make each of them a command of `app`, without importing its module."""
    for verb in verbs:
        path = f"rookery.cli.{verb.function}"
        if verb.function.endswith(_GROUP):
            app.command(path, name=verb.name, help=verb.help)
        else:
            epilogue = f"Example:  {verb.example}\n\n{verb.remark}".strip()
            app.command(path, name=verb.name, help=verb.help, help_epilogue=epilogue)
