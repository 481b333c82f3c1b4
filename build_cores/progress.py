"""How far it is: one line that changes on a terminal, and a line each time elsewhere."""

import sys
import time


class Progress:
    def __init__(self, modules: int) -> None:
        self._modules, self._done = modules, 0
        self._began = time.monotonic()
        self._is_terminal = sys.stderr.isatty()
        self._show(f"compiling {modules} modules …")

    def advance(self, modules: int) -> None:
        if modules:
            self._done += modules
            self._show(f"compiling {self._done} of {self._modules} …")

    def end(self) -> None:
        took_s = time.monotonic() - self._began
        self._show(f"compiled {self._modules} modules in {took_s:.0f} s")
        if self._is_terminal:
            print(file=sys.stderr)

    def _show(self, text: str) -> None:
        begin, end = ("\r", "\x1b[K") if self._is_terminal else ("", "\n")
        print(f"{begin}{text}", end=end, file=sys.stderr, flush=True)
