"""Histogram: counts in steps of 5 %, which can be added up, and quantiles that follow from them.

Bucket k holds whole numbers from 1.05^k up to, and not including, 1.05^(k+1); bucket 0 also 0. The
logarithm only guesses the bucket: whole bounds decide, so that every engine finds the same one.
"""

import math

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (its usual name)

BUCKETS = 900  # 1.05^900 is more than 64 bits hold


def bound(bucket: int) -> int:
    """The smallest whole number in a bucket, or where it is empty in those behind it."""
    return int(-(-(21**bucket) // 20**bucket))


BOUNDS = tuple(min(bound(bucket), (1 << 63) - 1) for bucket in range(BUCKETS + 2))

_STEP = 1 / math.log(1.05)


def bucket(value: Column) -> Column:
    """Of a whole number from 0 upwards; null: null."""
    bounds = F.lit(list(BOUNDS))
    guess = F.floor(F.log(F.greatest(value, F.lit(1)).cast("double")) * _STEP).cast("int")
    lower, upper = F.get(bounds, guess), F.get(bounds, guess + 1)
    fixed = F.when(F.greatest(value, F.lit(1)) < lower, guess - 1)
    fixed = fixed.when(value >= upper, guess + 1).otherwise(guess)
    return F.when(value.isNotNull(), fixed.cast("long"))
