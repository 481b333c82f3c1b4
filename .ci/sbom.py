"""Writes what a wheel brings and what it was made of, as CycloneDX 1.6 in JSON, beside the wheels.

python .ci/sbom.py FOLDER      where the wheels of this version are

    pyproject.toml               who we are, and what is needed directly
    requirements/*.lock          the versions and hashes that are installed with a wheel
    requirements/licences.json   their licences
    web/static/vendor            libraries of the pages, which are in the wheel itself

The same files give the same bytes: no time and no machine is in it.
"""

import hashlib
import json
import re
import sys
import tomllib
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "requirements"
VENDOR = ROOT / "src" / "rookery" / "web" / "static" / "vendor"
EXTRAS = ("hub", "lake", "connect", "legacy")  # beside base, which every wheel needs
COMPILER = "mypy"  # its runtime in C is part of each extension module

_NAMESPACE = uuid.UUID("6f0b2a52-6b0e-5d0f-9a25-2a3c1f7c9a11")
_PIN = re.compile(
    r"^([a-z0-9-]+)(?:\[[^\]]*\])?==([^\s;]+)(?:\s*;\s*(.*?))?\s+--hash", re.MULTILINE
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")

Json = dict[str, object]


@dataclass
class Pin:
    """A version that is installed somewhere."""

    name: str
    version: str
    marker: str  # on which machines; empty for all
    hashes: list[str]
    sets: list[str] = field(default_factory=list)  # base, or the extras that bring it

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{quote(self.version)}"


def main() -> None:
    folder = Path(sys.argv[1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wheels = sorted(folder.glob(f"{project['name']}-{project['version']}-*.whl"))
    file = folder / f"{project['name']}-{project['version']}.cdx.json"
    file.write_text(json.dumps(bom(project, wheels), indent=2) + "\n")
    print(file)


def bom(project: Json, wheels: list[Path]) -> Json:
    licences: dict[str, str] = json.loads((REQUIREMENTS / "licences.json").read_text())
    pins = installed()
    components = [_python(pin, licences[pin.name]) for pin in pins]
    components.append(_python(_compiler(), licences[COMPILER]))
    components += [_vendored(each) for each in json.loads((VENDOR / "manifest.json").read_text())]
    product = _product(project, wheels)
    body = {
        "metadata": {"component": product},
        "components": components,
        "dependencies": _dependencies(product, components),
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(body, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": serial.urn}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        **head,
        "version": 1,
        **body,
    }


def installed() -> list[Pin]:
    """What the locks of users hold, each version once, with the extras that bring it."""
    found: dict[tuple[str, str], Pin] = {}
    for name in ("base", *EXTRAS):
        for pin in pins_of(REQUIREMENTS / f"{name}.lock"):
            found.setdefault((pin.name, pin.version), pin).sets.append(name)
    for pin in found.values():
        if "base" in pin.sets:  # and so in every set
            pin.sets = ["base"]
    return [found[key] for key in sorted(found)]


def pins_of(lock: Path) -> list[Pin]:
    pins = []
    for line in lock.read_text().replace("\\\n", "").splitlines():
        match = _PIN.match(line)
        assert match is not None, line
        name, version, marker = match.groups(default="")
        pins.append(Pin(name, version, marker, sorted(_HASH.findall(line))))
    return pins


def _compiler() -> Pin:
    (pin,) = (each for each in pins_of(REQUIREMENTS / "build.lock") if each.name == COMPILER)
    pin.sets = ["compiled wheels"]
    return pin


def _python(pin: Pin, licence: str) -> Json:
    properties = [{"name": "rookery:installedWith", "value": name} for name in pin.sets]
    if pin.marker:
        properties.append({"name": "rookery:marker", "value": pin.marker})
    return {
        "type": "library",
        "bom-ref": pin.purl,
        "name": pin.name,
        "version": pin.version,
        "scope": "required" if "base" in pin.sets else "optional",
        # One for each file that there is of this version, for a platform or as a source.
        "hashes": [{"alg": "SHA-256", "content": content} for content in pin.hashes],
        "licenses": [{"expression": licence}],
        "purl": pin.purl,
        "properties": properties,
    }


def _vendored(package: dict[str, object]) -> Json:
    name, version, files = str(package["name"]), str(package["version"]), package["files"]
    assert isinstance(files, dict)
    group, _, short = name.rpartition("/")
    purl = f"pkg:npm/{quote(name)}@{quote(version)}"
    return {
        "type": "library",
        "bom-ref": purl,
        **({"group": group} if group else {}),
        "name": short,
        "version": version,
        "scope": "required",
        "licenses": [{"expression": package["licence"]}],
        "purl": purl,
        "components": [
            {
                "type": "file",
                "bom-ref": f"{purl}#{file}",
                "name": f"rookery/web/static/vendor/{file}",
                "hashes": [{"alg": "SHA-256", "content": content}],
            }
            for file, content in sorted(files.items())
        ],
    }


def _product(project: Json, wheels: list[Path]) -> Json:
    purl = f"pkg:pypi/{project['name']}@{project['version']}"
    return {
        "type": "application",
        "bom-ref": purl,
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "licenses": [{"expression": project["license"]}],
        "purl": purl,
        "externalReferences": [
            {
                "type": "distribution",
                "url": wheel.name,
                "hashes": [
                    {"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}
                ],
            }
            for wheel in wheels
        ],
    }


def _dependencies(product: Json, components: list[Json]) -> list[Json]:
    """Locks do not say which package brought another, so that all are the product's."""
    return [
        {
            "ref": product["bom-ref"],
            "dependsOn": sorted(str(each["bom-ref"]) for each in components),
        }
    ]


if __name__ == "__main__":
    main()
