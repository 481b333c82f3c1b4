"""The measurements of `mesh` with more nodes than there is time for in the table; printed alone."""

from bench.mesh import control_row, ordeal_rows
from bench.table import table

SIZES = (100, 300)
QUIET_SIZE = 400


def main() -> None:
    for size in SIZES:
        print(table(ordeal_rows(size)), flush=True)
    print(table([control_row(QUIET_SIZE)]), flush=True)
