"""What the demo prints: lines for people, JSON for programs."""

import time
from collections.abc import Mapping

from rookery.cli.demo.incidents import IncidentNotice
from rookery.cli.demo.tour import Tour
from rookery.cli.terminal import units
from rookery.cli.terminal.options import Output
from rookery.cli.terminal.screen import print_json, remark


class DemoPrinter:
    """Output of one demo; times count from its start."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._began_s = time.monotonic()
        self._has_insights = False
        self._trouble = ""  # that the lake has, as it was told
        if output.json:
            print_json({"event": "starting"})
        else:
            print("bringing up a small world; this takes some seconds", flush=True)

    def say(self, text: str) -> None:
        if self._output.json:
            print_json({"event": "remark", "text": text})
        else:
            remark(text)

    def tour(self, tour: Tour) -> None:
        if self._output.json:
            print_json({**tour.json(), "seconds": self._since_s()})
            return
        print(f"up after {units.span(self._since_s())}\n", flush=True)
        for line in tour.lines():
            print(line, flush=True)
        print(flush=True)

    def incident(self, notice: IncidentNotice) -> None:
        if self._output.json:
            print_json({"event": "incident", "text": notice.text, "is_over": notice.is_over})
        else:
            remark(notice.text)

    def lake(self, kind: str, values: Mapping[str, object]) -> None:
        """All steps and runs as JSON; for people, only the first results and failures."""
        if self._output.json:
            print_json({"event": kind, **values, "seconds": self._since_s()})
        elif kind == "run" and values["ok"]:
            self._lake_works()
        elif kind == "run":
            self._lake_fails(f"{values['step']}: {values['error']}; see {values['log']}")

    def _lake_works(self) -> None:
        if self._trouble:
            self._trouble = ""
            remark("the lake works again")
        if not self._has_insights:
            self._has_insights = True
            remark(f"the insights are there, after {units.span(self._since_s())}")

    def _lake_fails(self, trouble: str) -> None:
        """Print a repeated failure once."""
        if trouble != self._trouble:
            self._trouble = trouble
            remark(f"a run of the lake failed: {trouble}; it is tried again")

    def _since_s(self) -> float:
        return round(time.monotonic() - self._began_s, 1)
