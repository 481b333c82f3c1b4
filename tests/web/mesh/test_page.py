"""R13: the pages of the map and the matrix, as far as they need no browser."""

from pathlib import Path

import msgspec
import pytest

from tests.web.world import SETTINGS, World, world

BROWSER = {"accept": "text/html"}
PAGES = ("/fleet/map", "/fleet/matrix")


@pytest.mark.parametrize("path", PAGES)
async def test_they_are_for_operators(hubworld: World, path: str) -> None:
    async with hubworld.anonymous() as anonymous:
        assert (await anonymous.get(path)).status_code == 401
    assert (await (await hubworld.signed_in("ulf")).get(path)).status_code == 403
    assert (await (await hubworld.signed_in("olga", "operator")).get(path)).status_code == 200


@pytest.mark.parametrize("path", PAGES)
async def test_without_a_mesh_they_name_the_next_command(hubworld: World, path: str) -> None:
    olga = await hubworld.signed_in("olga", "operator")
    page = (await olga.get(path, headers=BROWSER)).text
    assert "rookery hub --node CONTROL.SOCK" in page
    assert "map.js" not in page
    assert "matrix.js" not in page


async def test_with_a_mesh_node_each_page_has_its_data_and_command(
    tmp_path: Path, template: Path
) -> None:
    """The node need not answer for the page to come: its script tells of that."""
    settings = msgspec.structs.replace(SETTINGS, node=tmp_path / "control.sock")
    async with world(tmp_path, template, settings) as made:
        olga = await made.signed_in("olga", "operator")
        shown = (await olga.get("/fleet/map", headers=BROWSER)).text
        assert 'href="/api/v1/mesh/graph"' in shown
        assert 'data-copy="rookery graph"' in shown
        assert "/static/map.js" in shown
        assert 'data-has-lake=""' in shown
        figures = (await olga.get("/fleet/matrix", headers=BROWSER)).text
        assert 'href="/api/v1/mesh/matrix"' in figures
        assert "/static/matrix.js" in figures


async def test_a_lake_alone_is_enough_to_look_back(tmp_path: Path, template: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, lake=str(tmp_path / "lake"))
    async with world(tmp_path, template, settings) as made:
        olga = await made.signed_in("olga", "operator")
        shown = (await olga.get("/fleet/map", headers=BROWSER)).text
        assert 'data-has-mesh="" data-has-lake="yes"' in shown
        assert "/static/map.js" in shown


@pytest.mark.parametrize("path", PAGES)
async def test_they_speak_russian(tmp_path: Path, template: Path, path: str) -> None:
    settings = msgspec.structs.replace(SETTINGS, node=tmp_path / "control.sock")
    async with world(tmp_path, template, settings) as made:
        olga = await made.signed_in("olga", "operator")
        shown = (await olga.get(path, headers=BROWSER | {"accept-language": "ru"})).text
        assert "Потери" in shown
        assert "Loss" not in shown
