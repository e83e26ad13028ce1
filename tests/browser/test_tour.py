"""Everything on the page is used once, with the outside blocked: nothing is asked for there, and nothing fails."""

import pytest

pytestmark = pytest.mark.browser
TABS = ("Debugger", "Generated code", "Authoring source", "Compare", "Run log", "Timeline")


@pytest.fixture
def failed(page):
    """What the page asked for and did not get; all that is not this machine's is cut off."""
    failed: list[str] = []
    page.context.route(
        lambda url: not url.startswith(("http://localhost", "http://127.0.0.1", "data:", "blob:")),
        lambda route: (failed.append(route.request.url), route.abort()),
    )
    page.on("requestfailed", lambda request: failed.append(f"{request.url}: {request.failure}"))
    page.on(
        "response", lambda answer: answer.status >= 400 and failed.append(f"{answer.url}: {answer.status}")
    )
    page.on("console", lambda said: said.type == "error" and failed.append(said.text))
    return failed


@pytest.mark.timeout(300)
def test_a_full_tour_asks_for_nothing_outside_and_nothing_fails(failed, editor):
    page = editor.page
    _panes_and_dialogs(editor)
    editor.op("smem_ab.release").click()
    editor.edited(lambda: editor.press("Delete"))
    page.locator(".warpdraft .finding .what").first.click()
    page.locator(".warpdraft .explained .page").last.wait_for()
    page.get_by_role("button", name="Replay").first.click()
    page.get_by_role("button", name="Step back").click()
    page.get_by_role("tab", name="Compare").click()
    page.get_by_label("Compare with").select_option(label="as opened")
    page.locator(".warpdraft .compare figure img").first.wait_for(timeout=60_000)
    editor.root.focus()
    editor.edited(lambda: editor.press("Control+z"))
    page.get_by_role("tab", name="Timeline").click()
    for form in ("perfetto", "svg", "png"):
        with page.expect_download():
            page.get_by_label("Export the timeline").select_option(form)
    with page.expect_download():
        page.get_by_role("button", name="Export", exact=True).click()
    editor.choose("tma_copy", "store")
    page.reload()
    page.locator(".warpdraft .op").first.wait_for()
    assert failed == []


def _panes_and_dialogs(editor) -> None:
    page = editor.page
    for key, dialog in (("?", "Keys"), ("/", "Go to")):
        editor.press(key)
        page.get_by_role("dialog", name=dialog).wait_for()
        editor.press("Escape")
    for tab in TABS:
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(150)
    for table in ("Show as a table", "Show the timeline as a table"):
        page.get_by_role("button", name=table).click()
        page.get_by_role("button", name=table).click()
    for _ in range(2):
        page.get_by_role("button", name="theme").click()
        page.wait_for_timeout(150)
    page.locator(".warpdraft .drawing g.node").first.click()
    page.locator(".warpdraft .details .form").wait_for()


def test_the_outside_is_cut_off(failed, page, address):
    """The check of the tour can fail."""
    page.goto(address)
    page.evaluate("fetch('https://example.com/').catch(() => null)")
    page.evaluate("fetch('/not-there')")
    assert any("example.com" in said for said in failed) and any("not-there" in said for said in failed)


def test_advice_is_asked_for_and_stays_until_the_next_edit(editor):
    page = editor.page
    editor.choose("tma_copy", "store")
    advice = page.get_by_role("button", name="Advice")
    advice.click()
    page.locator(".warpdraft .findings [role=status], .warpdraft .finding.sev-advice").first.wait_for(
        timeout=60_000
    )
    assert advice.is_enabled() and editor.verdict == "Safe"
    editor.op("release").click()
    editor.edited(lambda: editor.press("Delete"))
    assert page.locator(".warpdraft .findings [role=status]").count() == 0
    assert editor.verdict == "Unsafe" and advice.is_disabled()
