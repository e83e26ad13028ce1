"""New documents in the browser."""

import pytest

pytestmark = pytest.mark.browser


def test_a_new_document_from_a_template_by_keyboard(editor, folder):
    editor.page.get_by_label("Open document").select_option(label="New document…")
    editor.page.get_by_role("dialog", name="New document").wait_for()
    editor.page.keyboard.type("copy")
    editor.press("Enter")
    editor.page.locator(".warpdraft .files option[value='tma_copy_2.warpdraft.json']").wait_for(
        state="attached"
    )
    editor.settled()
    assert editor.verdict == "Safe" and editor.page.locator(".warpdraft .dirty").count() == 1
    editor.press("Control+s")
    editor.page.locator(".warpdraft .notice", has_text="Saved tma_copy_2").wait_for()
    assert (folder / "tma_copy_2.warpdraft.json").is_file()


def test_leaving_the_dialog_changes_nothing(editor):
    files = editor.page.get_by_label("Open document")
    files.select_option(label="New document…")
    editor.press("Escape")
    assert editor.page.get_by_role("dialog").count() == 0
    assert files.input_value() == "persistent_gemm.warpdraft.json"
