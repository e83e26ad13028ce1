"""Several tabs on one server."""

import time
from pathlib import Path
from shutil import copy

import pytest
from served import Server

pytestmark = pytest.mark.browser
EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


@pytest.fixture
def server(tmp_path, chromium):
    """A server of one test, on a copy of the persistent GEMM."""
    server = Server(Path(copy(EXAMPLES / "persistent_gemm.warpdraft.json", tmp_path)))
    server.document = tmp_path / "persistent_gemm.warpdraft.json"
    yield server
    server.stop()


def test_a_tab_is_edited_beside_a_busy_one_and_a_closed_tab_frees_its_work(browser, page, server, opened):
    editor = opened(page, server)
    other = opened(browser.new_context().new_page(), server)
    page.locator(".warpdraft .others").wait_for()
    field = other.page.locator(".warpdraft .trip input").first
    field.fill("400")  # tiles: a prediction that takes long
    field.press("Enter")
    editor.op("smem_ab.release").click()
    editor.edited(lambda: editor.press("Delete"))
    assert editor.verdict == "Unsafe" and other.verdict == "Safe"
    assert "tiles = 400" not in other.page.locator(".warpdraft .tabs .summary").inner_text()  # at work still
    at_work = max(_children(server.process.pid), key=_used)
    other.page.context.close()
    page.locator(".warpdraft .others").wait_for(state="detached", timeout=60_000)
    deadline = time.monotonic() + 60
    while at_work in _children(server.process.pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert at_work not in _children(server.process.pid)
    editor.edited(lambda: editor.press("Control+z"))
    assert editor.verdict == "Safe"


def _children(pid: int) -> set[str]:
    """A process belongs to the thread that started it."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return {child for thread in threads for child in (thread / "children").read_text().split()}


def _used(pid: str) -> int:
    """Ticks of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
