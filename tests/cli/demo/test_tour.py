"""The tour: commands that work as they are printed."""

import shlex
from pathlib import Path

from rookery.cli.demo.fleet_hub import HubPlan
from rookery.cli.demo.folder import NAME, DemoFolder
from rookery.cli.demo.site_plan import DEVICES
from rookery.cli.demo.tour import Tour

HUB = HubPlan(http=8420, fleet=7420, forecaster="x", has_lake=True)


def tour(folder: Path = NAME, program: str = "rookery", days: int = 14) -> Tour:
    return Tour(
        folder=DemoFolder(folder),
        hub=HUB,
        password="correct horse",
        broker=".12.127.0.0.1:10009",
        program=program,
        days=days,
    )


def test_it_says_where_to_sign_in_and_with_what() -> None:
    text = "\n".join(tour().lines())
    assert "http://127.0.0.1:8420/ as admin, password correct horse" in text
    assert "http://127.0.0.1:8420/fleet/map" in text


def test_its_commands_name_places_that_there_are_whatever_the_folder_is_called() -> None:
    folder = Path("my demo")
    names = {place.name for place in DEVICES} | {"cli", "lake"}
    for command, _ in tour(folder, "./a b/rookery").commands():
        program, *words = shlex.split(command)
        assert program == "./a b/rookery"
        paths = [Path(word) for word in words if word.startswith("my demo/")]
        assert all(path.name in names for path in paths)
    assert shlex.split(tour(folder).incident_command())[-1] == "my demo"


def test_without_a_lake_nothing_of_it_is_shown() -> None:
    text = "\n".join(tour(days=0).lines())
    assert "lake" not in text
    assert "insights" not in text


def test_programs_get_the_same(tmp_path: Path) -> None:
    printed = tour(tmp_path).json()
    assert printed["password"] == "correct horse"
    assert printed["folder"] == str(tmp_path)


def test_the_password_is_in_no_trace() -> None:
    assert "correct horse" not in repr(tour())
