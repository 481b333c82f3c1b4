"""`config.*`: typed settings in a file that is whole or not there."""

from pathlib import Path

import msgspec
import pytest

from rookery.agent.methods.config import FILE_NAME, AgentConfig, ConfigFile
from rookery.errors import UsageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / FILE_NAME


def mode(file: Path) -> int | None:
    return file.stat().st_mode & 0o777 if file.exists() else None


async def test_what_is_set_is_kept_and_notified(file: Path) -> None:
    heard: list[AgentConfig] = []
    config = ConfigFile(AgentConfig(interval_s=5.0), file)
    config.on_change(heard.append)
    assert await config.get() == {"interval_s": 5.0, "name": "", "labels": {}}
    assert await config.set("name", "kitchen") == {"name": "kitchen"}
    assert await config.set("labels", {"floor": "2"}) == {"labels": {"floor": "2"}}
    assert await config.set("interval_s", 30) == {"interval_s": 30.0}
    assert [changed.interval_s for changed in heard] == [5.0, 5.0, 30.0]
    again = ConfigFile(AgentConfig(interval_s=7.0), file)
    assert again.config == config.config
    assert mode(file) == 0o600


async def test_null_goes_back_to_the_start(file: Path) -> None:
    config = ConfigFile(AgentConfig(interval_s=5.0), file)
    await config.set("interval_s", 60)
    assert await config.set("interval_s", None) == {"interval_s": 5.0}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("interval", 5.0),
        ("v", 2.0),
        ("interval_s", 0.1),
        ("interval_s", "soon"),
        ("interval_s", 1e9),
        ("interval_s", float("nan")),
        ("name", 7.0),
        ("name", "x" * 65),
        ("labels", {"a\nb": "c"}),
        ("labels", {str(n): "x" for n in range(17)}),
    ],
)
async def test_what_does_not_fit_changes_nothing(
    key: str, value: float | str | dict[str, str], file: Path
) -> None:
    config = ConfigFile(AgentConfig(), file)
    with pytest.raises(UsageError):
        await config.set(key, value)
    assert config.config == AgentConfig()
    assert mode(file) is None


async def test_an_unknown_key_names_the_known_ones(file: Path) -> None:
    with pytest.raises(UsageError, match="interval_s, name, labels"):
        await ConfigFile(AgentConfig(), file).get("interval")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"colour":1}', b'{"name":7}', b"\xff"])
def test_a_damaged_file_is_named(data: bytes, file: Path) -> None:
    file.write_bytes(data)
    with pytest.raises(UsageError, match=FILE_NAME):
        ConfigFile(AgentConfig(), file)


async def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    config = ConfigFile(AgentConfig(), tmp_path / "gone" / FILE_NAME)
    with pytest.raises(UsageError, match="cannot write"):
        await config.set("name", "x")
    assert config.config.name == ""


async def test_without_a_file_settings_last_as_long_as_the_agent() -> None:
    config = ConfigFile(AgentConfig(), None)
    await config.set("name", "x")
    assert msgspec.to_builtins(config.config)["name"] == "x"
