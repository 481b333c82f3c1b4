"""Texts as Arrow columns, made from numbers by the million."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rookery.lake.history.noise import Ints


class Codes:
    """Texts of one length, kept as rows of bytes: many of them are one copy."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        joined = "".join(texts).encode()
        self._rows: NDArray[np.uint8] = np.frombuffer(joined, np.uint8).reshape(len(texts), -1)

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, index: Ints) -> pa.Array:
        data = np.ascontiguousarray(self._rows[index])
        width = self._rows.shape[1]
        offsets = np.arange(0, (len(index) + 1) * width, width, dtype=np.int32)
        return pa.StringArray.from_buffers(len(index), pa.py_buffer(offsets), pa.py_buffer(data))


def chosen(texts: Sequence[str], index: Ints) -> pa.Array:
    """Of any lengths, for columns that are short."""
    return pa.array(texts, pa.string()).take(pa.array(index))
