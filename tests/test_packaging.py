"""What is built holds what it should and nothing else."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from trove_classifiers import classifiers

import privet
from privet.version import __version__

ROOT = Path(privet.__file__).parents[2]
NAME = f"privet-{__version__}"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", out], cwd=ROOT, check=True, capture_output=True
    )
    return out


def sources() -> set[str]:
    files = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(ROOT / "src").as_posix() for path in files if "egg-info" not in str(path)}


def test_the_wheel_holds_the_package_and_its_license(built):
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        about = {f"{NAME}.dist-info/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
        assert set(wheel.namelist()) == sources() | about | {f"{NAME}.dist-info/licenses/LICENSE"}
        assert "privet/py.typed" in wheel.namelist()
        metadata = email.message_from_bytes(wheel.read(f"{NAME}.dist-info/METADATA"))
    assert metadata["Author"] == "PRIVET developers"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Summary"] and metadata["Keywords"] and metadata.get_payload()
    assert set(metadata.get_all("Classifier")) <= set(classifiers)
    assert "Typing :: Typed" in metadata.get_all("Classifier")


def test_the_source_archive_holds_what_builds_tests_and_documents(built):
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    assert {name.removeprefix("src/") for name in names if name.startswith("src/")} == sources()
    rest = {name for name in names if not name.startswith("src/")}
    assert {name.split("/")[0] for name in rest if "/" in name} == {"docs", "tests", "tools"}
    assert {name for name in rest if "/" not in name} == {
        *(".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "PKG-INFO", "README.md", "SECURITY.md"),
        *("pyproject.toml", "requirements.lock"),
    }
    endings = {Path(name).suffix for name in rest if "/" in name}
    assert endings <= {".py", ".md", ".json", ".png", ".toml", ".css", ".svg"}
    assert not [name for name in names if name.startswith("docs/_build")]


def test_the_change_log_has_this_version_with_a_date():
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", log, re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    assert all(date for _, date in headings[1:])
    dates = [date for _, date in headings[1:]]
    assert dates == sorted(dates, reverse=True)
    assert any(__version__.startswith(version) for version, _ in headings[1:])


def test_what_is_optional_adds_up():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    apart = {"all", "spark", "docs", "dev"}
    parts = {need for name in extras.keys() - apart for need in extras[name]}
    assert apart <= extras.keys() and sorted(extras["all"]) == sorted(parts)
