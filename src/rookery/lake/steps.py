"""The order of steps: everything that the pipeline does, from landing to insights."""

from rookery.lake.step import AnyStep

STEPS: tuple[AnyStep, ...] = ()
