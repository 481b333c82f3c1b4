"""Who: a node, wherever a row mentions one."""

import msgspec


class Who(msgspec.Struct, frozen=True):
    """A node by its hashname, and what people call it."""

    hashname: str  # the first 12 characters only, where nobody has shown its certificate
    name: str = ""  # as in its certificate

    def __str__(self) -> str:
        return self.name or self.hashname[:8]
