"""The bill of materials beside a wheel: valid, complete, and the same bytes each time."""

import json
import re
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta
from packaging.licenses import canonicalize_license_expression

from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "requirements"
LICENCES: dict[str, str] = json.loads((REQUIREMENTS / "licences.json").read_text())
VENDOR = ROOT / "src" / "rookery" / "web" / "static" / "vendor"
WHEEL = "rookery-0.1.0-py3-none-any.whl"

# What the published schema of CycloneDX 1.6 says of the parts in use; it allows no other names.
Ref = Annotated[str, Meta(min_length=1)]
Serial = Annotated[
    str, Meta(pattern="^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
]


class Known(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Names that the schema does not know are refused."""


class Hash(Known):
    alg: Literal["SHA-256"]
    content: Annotated[str, Meta(pattern="^[a-f0-9]{64}$")]


class Licence(Known):
    expression: str


class Property(Known):
    name: str
    value: str


class Reference(Known):
    type: Literal["distribution"]
    url: str
    hashes: list[Hash]


class Component(Known):
    type: Literal["application", "library", "file"]
    bom_ref: Ref = msgspec.field(name="bom-ref")
    name: str
    group: str = ""
    version: str = ""
    description: str = ""
    scope: Literal["required", "optional", "excluded"] = "required"
    hashes: list[Hash] = []
    licenses: Annotated[list[Licence], Meta(max_length=1)] = []
    purl: str = ""
    external_references: list[Reference] = []
    properties: list[Property] = []
    components: "list[Component]" = []


class Metadata(Known):
    component: Component


class Dependency(Known):
    ref: Ref
    depends_on: list[Ref]


class Bom(Known):
    schema: Literal["http://cyclonedx.org/schema/bom-1.6.schema.json"] = msgspec.field(
        name="$schema"
    )
    bom_format: Literal["CycloneDX"]
    spec_version: Literal["1.6"]
    serial_number: Serial
    version: Annotated[int, Meta(ge=1)]
    metadata: Metadata
    components: list[Component]
    dependencies: list[Dependency]


def written(folder: Path) -> bytes:
    folder.mkdir(exist_ok=True)
    (folder / WHEEL).write_bytes(b"what was built")
    subprocess.run(
        [sys.executable, ROOT / ".ci" / "sbom.py", folder],
        check=True,
        capture_output=True,
        timeout=PATIENCE_S,
    )
    return (folder / "rookery-0.1.0.cdx.json").read_bytes()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def bom(text: bytes) -> Bom:
    return msgspec.json.decode(text, type=Bom)


def everything(components: list[Component]) -> list[Component]:
    return [each for one in components for each in (one, *everything(one.components))]


def test_it_is_the_same_each_time(text: bytes, tmp_path: Path) -> None:
    assert written(tmp_path / "again") == text


def test_no_reference_stands_for_two_components(bom: Bom) -> None:
    known = [each.bom_ref for each in everything([bom.metadata.component, *bom.components])]
    assert len(known) == len(set(known))
    told = {ref for each in bom.dependencies for ref in (each.ref, *each.depends_on)}
    assert told <= set(known)


def test_it_names_the_wheels_by_their_hashes(bom: Bom) -> None:
    (reference,) = bom.metadata.component.external_references
    assert reference.url == WHEEL
    assert reference.hashes[0].content == sha256(b"what was built").hexdigest()


def locked(name: str) -> set[tuple[str, str]]:
    lock = (REQUIREMENTS / f"{name}.lock").read_text()
    return set(re.findall(r"^([a-z0-9-]+)(?:\[[^\]]*\])?==([^\s;]+)", lock, re.MULTILINE))


@pytest.mark.parametrize("name", ["base", "hub", "lake", "connect", "legacy", "all"])
def test_it_has_all_that_is_installed_with_a_wheel(bom: Bom, name: str) -> None:
    assert locked(name) <= {(each.name, each.version) for each in bom.components}


def test_each_python_package_has_the_hashes_of_its_lock(bom: Bom) -> None:
    pinned = {
        match[1]: set(re.findall(r"sha256:([0-9a-f]{64})", entry))
        for entry in (REQUIREMENTS / "dev.lock").read_text().replace("\\\n", "").splitlines()
        if (match := re.match(r"([a-z0-9-]+(?:\[[^\]]*\])?==[^\s;]+)", entry))
    }
    by_pin = {re.sub(r"\[[^\]]*\]", "", pin): hashes for pin, hashes in pinned.items()}
    packages = [each for each in bom.components if each.purl.startswith("pkg:pypi/")]
    assert len(packages) > len(locked("base"))
    for each in packages:
        assert {hash_.content for hash_ in each.hashes} == by_pin[f"{each.name}=={each.version}"]


def test_it_has_the_libraries_of_the_pages_as_they_are(bom: Bom) -> None:
    files = [each for each in everything(bom.components) if each.type == "file"]
    assert {Path(each.name).name for each in files} == {
        path.name for path in VENDOR.iterdir() if path.name != "manifest.json"
    }
    for each in files:
        data = (ROOT / "src" / each.name).read_bytes()
        assert each.hashes[0].content == sha256(data).hexdigest()


def test_every_component_has_a_licence_that_spdx_knows(bom: Bom) -> None:
    for each in [bom.metadata.component, *bom.components]:
        (licence,) = each.licenses
        assert canonicalize_license_expression(licence.expression) == licence.expression


def test_what_the_packages_say_of_their_licences_is_what_we_say() -> None:
    """A new or updated dependency may need a line in requirements/licences.json."""
    assert {name for name, _ in locked("all")} | {"mypy"} == LICENCES.keys()
    said = {name: text for name in LICENCES if (text := expression(name)) is not None}
    assert said == {name: LICENCES[name] for name in said}


def expression(name: str) -> str | None:
    try:
        text = metadata(name).json.get("license_expression")
    except PackageNotFoundError:  # it is for other machines
        return None
    return str(canonicalize_license_expression(text)) if isinstance(text, str) else None


def test_what_users_install_has_no_tools_of_development() -> None:
    tools = {"pytest", "mypy", "ruff", "hypothesis", "atheris", "hatchling", "coverage", "uv"}
    for name in ("base", "hub", "lake", "connect", "legacy", "all"):
        assert tools & {package for package, _ in locked(name)} == set()
