"""Verbs below a verb, as in `rookery crow send`: imported when they are called, and not before."""

from collections.abc import Iterable
from typing import NamedTuple

from cyclopts import App


class CliVerb(NamedTuple):
    name: str
    function: str  # "module:function" below rookery.cli
    help: str
    example: str


def group(name: str, verbs: Iterable[CliVerb]) -> App:
    """A verb that consists of others."""
    app = App(name=name)
    for verb in verbs:
        app.command(
            f"rookery.cli.{verb.function}",
            name=verb.name,
            help=verb.help,
            help_epilogue=f"Example:  {verb.example}",
        )
    return app
