"""The pictures of the documentation are those that the script takes."""

import re
from pathlib import Path

import pytest

pytest.importorskip("playwright")
import screenshots

ROOT = Path(__file__).parents[2]


def test_every_picture_is_taken_by_the_script_and_shown_somewhere():
    taken = {f"{name}.png" for name in screenshots.STATES}
    shown = set()
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        shown |= set(re.findall(r"\((?:docs/)?images/([\w.]+)\)", page.read_text()))
    assert {path.name for path in screenshots.IMAGES.glob("*.png")} == taken == shown


def test_an_unknown_picture_is_told(capsys):
    assert screenshots.main(["nothing"]) == 2 and "editor" in capsys.readouterr().err
