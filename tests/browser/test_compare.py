"""The comparison in the browser."""

import pytest

pytestmark = pytest.mark.browser


def test_an_edit_is_compared_and_followed(editor):
    page = editor.page
    editor.op("smem_ab.release", nth=0).click()
    editor.edited(lambda: editor.press("Delete"))
    page.get_by_role("tab", name="Compare").click()
    page.get_by_label("Compare with").select_option(label="as opened")
    panel = page.locator(".warpdraft .compare")
    panel.locator("tr.changed", has_text="verdict").wait_for(timeout=30_000)
    assert "safe" in panel.locator("tr.changed", has_text="verdict").inner_text()
    assert panel.locator(".diff .minus", has_text="release").count() == 1
    assert panel.locator("figure img").count() == 2
    editor.press("Escape")
    editor.root.focus()
    editor.edited(lambda: editor.press("Control+z"))
    page.get_by_label("Compare with").select_option("tma_copy.warpdraft.json")
    panel.locator(".diff .at", has_text="load").first.wait_for(timeout=30_000)
