"""The server stops, and is started again, under an open page."""

import random
from pathlib import Path
from shutil import copy

import pytest
from served import Server

pytestmark = pytest.mark.browser
EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


@pytest.fixture
def server(tmp_path, chromium):
    """A server of one test, on a copy of the persistent GEMM."""
    copy(EXAMPLES / "persistent_gemm.warpdraft.json", tmp_path)
    server = Server(tmp_path / "persistent_gemm.warpdraft.json")
    server.document = tmp_path / "persistent_gemm.warpdraft.json"
    yield server
    if server.process.poll() is None:
        server.stop()


def test_a_stopped_server_is_told_and_a_new_one_offers_the_changes(page, server, opened):
    editor = opened(page, server)
    editor.op("smem_ab.release", nth=0).click()
    editor.edited(lambda: editor.press("Delete"))
    page.locator(".warpdraft[data-kept='1']").wait_for()
    shown = editor.ops("math")
    server.stop()
    page.locator(".warpdraft .connection.gone", has_text="Disconnected").wait_for()
    editor.press("Control+z")  # nobody is there to do it: the page shows what was acknowledged
    assert editor.ops("math") == shown
    again = Server(server.document, server.port)
    try:
        page.locator(".warpdraft .connection.back").wait_for(timeout=60_000)
        page.get_by_role("button", name="Reload").click()
        page.get_by_role("button", name="Restore").wait_for()
        editor.settled()
        editor.edited(lambda: page.get_by_role("button", name="Restore").click())
        assert editor.ops("math") == shown
    finally:
        again.stop()


@pytest.mark.timeout(240)
def test_a_killed_server_loses_no_acknowledged_edit(page, server, opened):
    """In the middle of fifty edits, as fast as the page takes them."""
    editor = opened(page, server)
    chance = random.Random(7)
    shown = {0: (editor.ops("load"), editor.ops("math"))}
    last = chance.randint(20, 30)
    for number in range(1, 51):
        editor.op("", chance.choice(["load", "math"]), chance.randint(0, 5)).click()
        editor.press(chance.choice(["Alt+ArrowUp", "Alt+ArrowDown", "Control+d"]))
        page.wait_for_timeout(60)
        shown[int(editor.root.get_attribute("data-revision"))] = (editor.ops("load"), editor.ops("math"))
        if number == last:
            break
    kept = int(editor.root.get_attribute("data-kept"))
    server.kill()
    assert kept >= last // 3
    page.locator(".warpdraft .connection.gone").wait_for()
    again = Server(server.document, server.port)
    try:
        editor.open(again.address)
        editor.edited(lambda: page.get_by_role("button", name="Restore").click())
        recovered = (editor.ops("load"), editor.ops("math"))
        assert recovered in [state for revision, state in shown.items() if revision >= kept]
    finally:
        again.stop()
