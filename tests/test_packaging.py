"""The package list in pyproject.toml, which cannot be discovered, is complete; what it builds works."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("app", "assets", "backends", "core")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LISTED = PROJECT["tool"]["setuptools"]["packages"]


def _packages_on_disk() -> list[str]:
    found = (init.parent.relative_to(ROOT) for part in PARTS for init in (ROOT / part).rglob("__init__.py"))
    return sorted("warpdraft." + ".".join(folder.parts) for folder in found)


def test_every_package_is_listed():
    missing = [name for name in _packages_on_disk() if name not in LISTED]
    lines = "\n".join(f'  "{name}",' for name in missing)
    assert not missing, f"add to [tool.setuptools] packages in pyproject.toml:\n{lines}"


def test_every_listed_package_exists():
    gone = [name for name in LISTED if name not in _packages_on_disk()]
    assert not gone, f"remove from [tool.setuptools] packages in pyproject.toml, or add __init__.py: {gone}"


def test_list_is_sorted_without_duplicates():
    assert sorted(set(LISTED)) == LISTED


def test_every_folder_with_modules_is_a_package():
    folders = {
        module.parent for part in ("app", "backends", "core") for module in (ROOT / part).rglob("*.py")
    }
    bare = [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()]
    assert not bare, f"add __init__.py, or the modules are missing from the wheel: {bare}"


def test_app_package_stays_empty():
    assert (ROOT / "app" / "__init__.py").read_text() == "", "panel serve runs it under a second name"


@pytest.mark.parametrize("part", ["app", "backends", "core"])
def test_part_says_that_it_is_typed(part):
    assert (ROOT / part / "py.typed").exists()


def test_every_requirement_has_an_upper_bound():
    extras = PROJECT["project"]["optional-dependencies"]
    requirements = PROJECT["project"]["dependencies"] + [line for lines in extras.values() for line in lines]
    foreign = [line for line in requirements if not line.startswith("warpdraft[")]
    assert not [line for line in foreign if "<" not in line and "==" not in line]


def test_installs_offline_into_a_folder(tmp_path):
    """As on a GPU machine without a network: the public face imports from there, without any dependency."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    shutil.copy(ROOT / "pyproject.toml", source)
    for part in PARTS:
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*install, "--no-build-isolation", "--target", target, source], check=True, cwd=tmp_path)

    packed = {str(file.relative_to(target / "warpdraft")) for file in (target / "warpdraft").rglob("*.py")}
    expected = {str(file.relative_to(source)) for part in PARTS for file in (source / part).rglob("*.py")}
    assert packed == expected

    where = "import sys, warpdraft.core; assert warpdraft.core.__file__.startswith(sys.argv[1])"
    bare = {**os.environ, "PYTHONPATH": str(target)}
    subprocess.run([sys.executable, "-S", "-c", where, str(target)], check=True, cwd=tmp_path, env=bare)
