"""The measurements of `mesh` with more nodes than there is time for in the table; printed alone."""

from bench.mesh import control_row, ordeal_rows
from bench.table import table

SIZE = 300
QUIET_SIZE = 400


def main() -> None:
    print(table(ordeal_rows(SIZE)), flush=True)
    print(table([control_row(QUIET_SIZE)]), flush=True)
