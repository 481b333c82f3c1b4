"""The bytes of crow messages: as they are given on a command line, and as they are printed."""

import base64

from rookery.cli.terminal.payload import payload
from rookery.errors import UsageError


async def message(data: str, size_max: int) -> bytes:
    """TEXT, @FILE or - for stdin; UsageError for more than `size_max` bytes."""
    source = payload(data)
    if isinstance(source, bytes):
        whole = source
    else:
        whole = b""
        async for piece in source:
            whole += piece
            if len(whole) > size_max:
                break
    if len(whole) > size_max:
        raise UsageError(f"the data is longer than {size_max} bytes; send it in parts")
    return whole


def fields(data: bytes) -> dict[str, str]:
    """For JSON: text where it is text, base64 elsewhere."""
    try:
        return {"data": data.decode()}
    except UnicodeDecodeError:
        return {"data_base64": base64.b64encode(data).decode()}


def line(data: bytes) -> bytes:
    """For a pipe: the bytes themselves, and a line end if they have none."""
    return data if data.endswith(b"\n") else data + b"\n"
