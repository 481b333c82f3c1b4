"""Which bodies leave in chunks (C8)."""

import pytest

from rookery.crow.pubsub.orders import chunk_size


@pytest.mark.parametrize(("size", "chunks"), [(0, None), (1200, None), (1201, 1000)])
def test_bodies_above_1200_bytes_leave_in_chunks_of_1000(size: int, chunks: int | None) -> None:
    assert chunk_size(bytes(size)) == chunks
