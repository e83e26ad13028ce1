"""The page for a report: complete, still, and closed to the outside."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.notebook import ScheduleEditor
from warpdraft.app.snapshot import snapshot
from warpdraft.core import edits, store

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"
DOCUMENT = store.load(EXAMPLES / "persistent_gemm.warpdraft.json")


def test_a_snapshot_has_everything_and_asks_for_nothing():
    text = snapshot(DOCUMENT, counts={"k_tiles": 4, "tiles": 1})
    for part in ("persistent_gemm", "safe", "acc.mma(tiles)", "smem_ab", "k_tiles = 4", "tensor core"):
        assert part in text
    addresses = set(re.findall(r"https?://[\w./-]+", text))
    assert all(address.startswith("http://www.w3.org/") for address in addresses)
    assert "<script" not in text and "src=" not in text and "url(" not in text.replace("url(#wait)", "")


def test_findings_come_with_their_witness():
    broken = store.load(EXAMPLES / "broken_deadlock.warpdraft.json")
    text = snapshot(broken)
    assert "WD301" in text and "How it happens" in text and 'class="unsafe"' in text


def test_names_are_text():
    bad = '<img src=x onerror="alert(1)">'
    assert "<img" not in snapshot(replace(DOCUMENT, name=bad, target=bad))


@pytest.mark.parametrize("wrong", [5, None, {"name": "x"}])
def test_an_editor_says_what_it_takes(wrong):
    with pytest.raises(
        TypeError, match=f"TaskManager, a Document or a file's path, not {type(wrong).__name__}"
    ):
        ScheduleEditor(wrong)


def test_a_notebook_shows_and_writes_it(tmp_path):
    editor = ScheduleEditor(DOCUMENT)
    try:
        editor.session.do(edits.SetDocument("name", "mine"))
        page = editor.snapshot(tmp_path / "report.html")
        assert (tmp_path / "report.html").read_text() == page and "mine" in page
        assert "sandbox" in page._repr_html_() and "srcdoc" in page._repr_html_()
    finally:
        editor.session.close()
