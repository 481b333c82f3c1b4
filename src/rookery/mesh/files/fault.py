"""Why a file was not copied: one word on the wire, a sentence for people."""

from enum import StrEnum

from rookery.errors import CongestionError, DeniedError, LocalError, UnreachableError, UsageError


class FileFault(StrEnum):
    FOLDER = "folder"
    POLICY = "policy"
    READ_ONLY = "read-only"
    PATH = "path"
    MISSING = "missing"
    KIND = "kind"
    FULL = "full"
    BUSY = "busy"
    IN_USE = "in use"
    CHANGED = "changed"
    SIZE = "size"
    DIGEST = "digest"
    TIMEOUT = "timeout"
    INVALID = "invalid"
    BROKEN = "broken"  # the disk's doing, or anything else

    @classmethod
    def of_word(cls, word: str) -> "FileFault":
        """An unknown code counts as BROKEN."""
        return _WORDS.get(word, FileFault.BROKEN)

    def error(self, what: object) -> LocalError:
        """The same as the caller of a copy hears it."""
        text = f"{what}: {_SENTENCES[self]}"
        match self:
            case FileFault.FOLDER | FileFault.POLICY | FileFault.READ_ONLY:
                return DeniedError(text)
            case FileFault.PATH | FileFault.MISSING | FileFault.KIND | FileFault.INVALID:
                return UsageError(text)
            case FileFault.BUSY | FileFault.IN_USE:
                return CongestionError(text)
            case _:
                return UnreachableError(text)


class CopyError(LocalError):
    """A local error, before it becomes a message."""

    def __init__(self, fault: FileFault) -> None:
        super().__init__(_SENTENCES[fault])
        self.fault = fault


class CopyRefusedError(CopyError):
    """The other end said so."""


_WORDS = {fault.value: fault for fault in FileFault}

_SENTENCES = {
    FileFault.FOLDER: "no folder of that name is served there",
    FileFault.POLICY: "that folder is not for us",
    FileFault.READ_ONLY: "that folder may only be read",
    FileFault.PATH: "no such path is allowed",
    FileFault.MISSING: "there is no such file or folder",
    FileFault.KIND: "that is no plain file",
    FileFault.FULL: "there is no room left on the disk",
    FileFault.BUSY: "too many copies are under way",
    FileFault.IN_USE: "somebody else is writing it",
    FileFault.CHANGED: "the file was changed while it was copied",
    FileFault.SIZE: "more or fewer bytes came than were announced",
    FileFault.DIGEST: "what arrived is not what was sent",
    FileFault.TIMEOUT: "nothing moved for too long",
    FileFault.INVALID: "nobody can understand that",
    FileFault.BROKEN: "it could not be read or written",
}
