"""The editor as a notebook shows it: with everything inline."""

from pathlib import Path

import pytest

from warpdraft.app.notebook import ScheduleEditor
from warpdraft.core import store

pytestmark = pytest.mark.browser
EXAMPLE = Path(__file__).parents[2] / "assets" / "examples" / "persistent_gemm.warpdraft.json"


def test_a_cell_shows_the_editor_without_asking_outside(page, tmp_path):
    editor = ScheduleEditor(store.load(EXAMPLE))
    assert editor.verify().verdict == "safe"
    file = tmp_path / "cell.html"
    editor.page.component.save(file, resources="inline")
    asked: list[str] = []
    page.context.set_offline(True)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.locator(".warpdraft .op").first.wait_for()
    assert page.locator(".warpdraft .verdict b").inner_text() == "Safe"
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    editor.session.close()


def test_a_snapshot_is_a_page_of_its_own(page, tmp_path):
    file = tmp_path / "report.html"
    editor = ScheduleEditor(store.load(EXAMPLE))
    editor.snapshot(file)
    editor.session.close()
    asked: list[str] = []
    page.context.set_offline(True)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    assert page.locator("h1").inner_text().startswith("persistent_gemm")
    assert page.locator("svg").count() >= 2
    assert asked == [file.as_uri()]
