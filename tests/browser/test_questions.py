"""What is asked at the top of the page, and what comes by itself meanwhile."""

import pytest

pytestmark = pytest.mark.browser


def test_a_question_stays_until_it_is_answered(editor):
    page = editor.page
    editor.op("smem_ab.release").click()
    editor.edited(lambda: editor.press("Delete"))
    page.get_by_role("button", name="Export", exact=True).click()
    question = page.locator(".warpdraft .notice", has_text="Not exported: WD")
    question.wait_for()
    trace = {"name": "bad.json", "mimeType": "application/json", "buffer": b"{}"}
    page.locator(".warpdraft .timeline-tools input[type=file]").set_input_files(trace)
    told = page.locator(".warpdraft .notice", has_text="no trace")
    told.wait_for()
    assert question.bounding_box()["y"] < told.bounding_box()["y"]  # it keeps its place
    told.get_by_role("button", name="Dismiss").click()
    told.wait_for(state="detached")
    with page.expect_download():
        question.get_by_role("button", name="Export anyway").click()
    question.wait_for(state="detached")
