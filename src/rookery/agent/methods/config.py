"""`config.*`: the few settings of an agent that its owner may change from afar.

    {"v":1,"interval_s":20.0,"name":"kitchen","labels":{"floor":"2"}}

The file is `config.json` next to the agent's keys, and is written atomically. Its values override
the command line, because they were set last. Unknown keys are errors.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from rookery.errors import UsageError
from rookery.runtime.atomic_file import replace

FILE_NAME = "config.json"
VERSION = 1
INTERVAL_S_MIN = 1.0
INTERVAL_S_MAX = 3600.0

_SIZE_MAX = 1 << 16

Seconds = Annotated[float, Meta(ge=INTERVAL_S_MIN, le=INTERVAL_S_MAX)]
Name = Annotated[str, Meta(max_length=64)]
Label = Annotated[str, Meta(min_length=1, max_length=32, pattern=r"^[\w.:/ -]*$")]
Value = float | str | dict[str, str] | None


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be set; each field has a value that is good enough."""

    v: int = VERSION
    interval_s: Seconds = 20.0  # between two reports
    name: Name = ""  # what people call the device
    labels: Annotated[dict[Label, Label], Meta(max_length=16)] = {}


_KEYS = tuple(name for name in AgentConfig.__struct_fields__ if name != "v")


class ConfigFile:
    """The settings in use and the file that keeps them; without one they last as long as we do."""

    def __init__(self, config: AgentConfig, file: Path | None) -> None:
        self._defaults = config
        self._file = file
        self._changed: Callable[[AgentConfig], None] = lambda _config: None
        self._config = config if file is None else _load(file, config)

    @property
    def config(self) -> AgentConfig:
        return self._config

    def on_change(self, changed: Callable[[AgentConfig], None]) -> None:
        """Call this with every new version of the settings."""
        self._changed = changed

    async def get(self, key: str | None = None) -> dict[str, Value]:
        """All settings, or the one that is named."""
        known = msgspec.to_builtins(self._config)
        return {name: known[name] for name in ((_checked(key),) if key is not None else _KEYS)}

    async def set(self, key: str, value: Value) -> dict[str, Value]:
        """Change one setting and keep it; null sets it back to what the agent was started with."""
        _checked(key)
        if value is None:
            value = getattr(self._defaults, key)
        fields = {**msgspec.to_builtins(self._config), key: value}
        try:
            changed = msgspec.convert(fields, AgentConfig)
        except msgspec.ValidationError as error:
            raise UsageError(f"{key} cannot be that: {error}") from error
        self._keep(changed)
        return await self.get(key)

    def _keep(self, config: AgentConfig) -> None:
        if self._file is not None:
            data = msgspec.json.format(msgspec.json.encode(config)) + b"\n"
            try:
                replace(self._file, data)
            except OSError as error:
                raise UsageError(f"cannot write {self._file}: {error.strerror}") from error
        self._config = config
        self._changed(config)


def _checked(key: str) -> str:
    if key not in _KEYS:
        raise UsageError(f"there is no setting {key!r}; there are {', '.join(_KEYS)}")
    return key


def _load(file: Path, defaults: AgentConfig) -> AgentConfig:
    try:
        with file.open("rb") as stream:
            data = stream.read(_SIZE_MAX)
    except FileNotFoundError:
        return defaults
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    try:
        kept = msgspec.json.decode(data, type=dict[str, object])
        return msgspec.convert({**msgspec.to_builtins(defaults), **kept}, AgentConfig)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{file} is damaged: {error}; mend it or remove it") from error
