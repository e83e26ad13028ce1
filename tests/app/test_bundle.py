"""The committed script is the one that its sources make, and asks for nothing from outside."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "app" / "components" / "js"
BUNDLE = ROOT / "assets" / "bundles" / "editor.js"


def test_the_bundle_is_that_of_its_sources(tmp_path):
    if not (SOURCES / "node_modules").is_dir() or not shutil.which("npx"):
        pytest.skip("the script's tools are not installed: npm ci in app/components/js")
    built = tmp_path / "editor.js"
    command = (SOURCES / "package.json").read_text().split('"build": "')[1].split('"')[0].split()
    command = [f"--outfile={built}" if part.startswith("--outfile") else part for part in command]
    subprocess.run(
        ["npx", "--no-install", *command], cwd=SOURCES, check=True, capture_output=True, timeout=60
    )
    assert built.read_text() == BUNDLE.read_text(), "run: cd app/components/js && npm run build"


def test_the_bundle_names_no_address_that_it_could_load():
    text = BUNDLE.read_text()
    addresses = set(re.findall(r"https?://[\w./-]+", text))
    assert {a for a in addresses if not a.startswith("http://www.w3.org/")} == set()
    assert "@import" not in text and "url(" not in text


def test_the_licences_of_what_is_bundled_come_with_it():
    text = (ROOT / "assets" / "bundles" / "LICENSES.txt").read_text()
    assert "Preact" in text and "SortableJS" in text and text.count("MIT") >= 2
