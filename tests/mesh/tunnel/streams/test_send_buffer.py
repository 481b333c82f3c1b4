"""M4: the bytes of a stream until they have arrived."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.mesh.tunnel.streams.send_half import SendBuffer

SIZES = st.lists(st.one_of(st.integers(1, 50), st.integers(2000, 5000)), min_size=1, max_size=120)


def pattern(size: int, start: int = 0) -> bytes:
    return bytes(index * 31 % 251 for index in range(start, start + size))


@given(SIZES, st.data())
def test_any_part_that_has_not_arrived_can_be_had_again(
    sizes: list[int], data: st.DataObject
) -> None:
    buffer = SendBuffer()
    for size in sizes:
        buffer.append(pattern(size, buffer.end))
    total = buffer.end
    dropped = 0
    for _ in range(5):
        dropped = data.draw(st.integers(dropped, total))
        buffer.drop(dropped)
        start = data.draw(st.integers(dropped, total))
        end = data.draw(st.integers(start, total))
        parts: list[bytes | memoryview] = []
        buffer.views(start, end, parts)
        assert b"".join(parts) == pattern(end - start, start)


def test_a_large_write_is_not_copied() -> None:
    buffer, data = SendBuffer(), bytes(5000)
    buffer.append(data)
    parts: list[bytes | memoryview] = []
    buffer.views(1000, 2000, parts)
    assert [part.obj for part in parts if isinstance(part, memoryview)] == [data]


def test_small_writes_after_a_part_was_taken_do_not_change_it() -> None:
    buffer = SendBuffer()
    buffer.append(b"one")
    parts: list[bytes | memoryview] = []
    buffer.views(0, 3, parts)
    buffer.append(b"two")
    buffer.views(3, 6, parts)
    assert b"".join(parts) == b"onetwo"
