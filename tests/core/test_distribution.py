"""The sdist and the wheel hold mmcore's packages with all of their files, and nothing else."""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from tests.fresh_environment import ROOT, built, run

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PACKAGES = sorted([ROOT / "mmcore", *(path.parent for path in ROOT.glob("plugins/*/__init__.py"))])
# In the folder of the project, as in a checkout where tests and builds have run; none may be distributed.
STRAY = ("notes.py", "build/lib/mmcore/removed.py", "experiments/results.json", "mmcore/__pycache__/old.pyc")
METADATA = f"mmcore_cuda-{PROJECT['version']}.dist-info/"
_SDIST = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"

pytestmark = pytest.mark.slow


def files_of_packages() -> set[str]:
    """Return the packages' files in the checkout, as a wheel names them."""
    return {
        path.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from a copy of the checkout, and unpack it."""
    folder = tmp_path_factory.mktemp("sdist")
    checkout = folder / "checkout"
    shutil.copytree(
        ROOT, checkout, ignore=shutil.ignore_patterns(".git", ".tox", ".venv", "__pycache__", "*.egg-info", "results")
    )
    for name in STRAY:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).touch()
    run(Path(sys.executable), "-c", _SDIST, str(folder), cwd=checkout)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> zipfile.Path:
    """Build the wheel from the sdist alone."""
    return zipfile.Path(built(sdist, sdist.parent / "wheels"))


def metadata(wheel: zipfile.Path) -> Message:
    return Parser().parsestr((wheel / METADATA / "METADATA").read_text(encoding="utf-8"))


def test_the_sdist_holds_the_packages_and_what_describes_them(sdist: Path) -> None:
    names = {path.relative_to(sdist).as_posix() for path in sdist.rglob("*") if path.is_file()}
    sources = {name.removeprefix("plugins/") for name in names if ".egg-info/" not in name}
    described = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "pyproject.toml"}
    assert sources - files_of_packages() == described | {"MANIFEST.in", "PKG-INFO", "setup.cfg"}
    assert files_of_packages() - sources == set()


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(wheel: zipfile.Path) -> None:
    names = {name for name in wheel.root.namelist() if not name.startswith(METADATA) and name[-1] != "/"}
    assert names == files_of_packages()


def test_every_package_says_that_it_has_types(wheel: zipfile.Path) -> None:
    assert [package.name for package in PACKAGES if not (wheel / package.name / "py.typed").exists()] == []


def test_the_wheel_describes_itself(wheel: zipfile.Path) -> None:
    found = metadata(wheel)
    assert (found["Name"], found["Version"]) == (PROJECT["name"], PROJECT["version"])
    assert found["Requires-Python"] == PROJECT["requires-python"]
    assert found["License-Expression"] == PROJECT["license"]
    assert found["Description-Content-Type"] == "text/markdown"
    assert found.get_payload() == (ROOT / "README.md").read_text(encoding="utf-8")
    assert found.get_all("Provides-Extra") == [*PROJECT["optional-dependencies"]]


def test_every_entry_point_leads_to_a_module_of_the_wheel(wheel: zipfile.Path) -> None:
    groups = {"scripts": PROJECT["scripts"], **PROJECT["entry-points"]}
    modules = [target.partition(":")[0].replace(".", "/") for group in groups.values() for target in group.values()]
    names = {*wheel.root.namelist()}
    assert [each for each in modules if not {f"{each}.py", f"{each}/__init__.py"} & names] == []


def test_a_release_is_tried_with_every_python_that_is_declared() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    declared = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: " in each]
    assert f"python: {json.dumps(declared)}\n" in workflow


def test_the_citation_has_the_version_that_is_built() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
