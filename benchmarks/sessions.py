"""Many sessions on one server: memory and processes while tabs are opened and closed, and whether one slows another.

python benchmarks/sessions.py [--tabs 50]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from shutil import copy

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from find_browser import LAUNCH_ARGS, find_browser
from playwright.sync_api import Browser, Page, sync_playwright
from served import Server, served

EXAMPLE = Path(__file__).parents[1] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
WARM = 20  # tabs before memory is compared: until then allocators grow to what the sessions that live at once need
MARK = 10  # tabs between two looks
MOST_GROWTH = 0.1  # MiB a tab
SPARE = 2  # processes in reserve
# The bytes of a stage of C: a few more change nothing about the verdict.
SIZE = "bytes of smem_c"
PATIENCE = 30.0  # seconds


def main() -> int:
    """Exit code 1 where memory grows, processes stay, or a busy session slows another one down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tabs", type=int, default=50)
    options = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("no Chromium found", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=list(LAUNCH_ARGS))
        with served(Path(copy(EXAMPLE, folder))) as server:
            good = _memory(chromium, server, options.tabs)
            good = _side_by_side(chromium, server) and good
        chromium.close()
    return 0 if good else 1


def _memory(chromium: Browser, server: Server, tabs: int) -> bool:
    marks: list[float] = []
    for number in range(1, WARM + tabs + 1):
        page = _opened(chromium, server)
        _edit(page)
        page.close()
        if (number >= WARM and (number - WARM) % MARK == 0) or number == WARM + tabs:
            left = _drained(server.process.pid)
            marks.append(_resident(server.process.pid))
            print(f"{number} tabs opened and closed: {marks[-1]:.1f} MiB, {left} analysis processes left")
    growth = (marks[-1] - marks[0]) / tabs
    print(f"growth over {tabs} tabs: {growth:.3f} MiB a tab")
    return growth < MOST_GROWTH and left <= SPARE


def _side_by_side(chromium: Browser, server: Server) -> bool:
    """One tab is edited, alone and while another tab works without end."""
    page = _opened(chromium, server)
    alone = [_edit(page) for _ in range(12)]
    other = _opened(chromium, server)
    field = other.locator(".warpdraft .trip input").first
    together = []
    for number in range(12):
        field.fill(str(60 + number))  # a long prediction, in the other session's process
        field.press("Enter")
        together.append(_edit(page))
    times = [1000 * statistics.median(values) for values in (alone, together)]
    print(f"an edit: alone median {times[0]:.0f} ms, beside a busy tab {times[1]:.0f} ms")
    return statistics.median(together) < 3 * statistics.median(alone) + 0.1


def _opened(chromium: Browser, server: Server) -> Page:
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(server.address)
    page.locator(".warpdraft[data-checked='0']").wait_for(timeout=60_000)
    page.locator(".warpdraft .op", has_text="wait(1)").first.click()
    return page


def _edit(page: Page) -> float:
    """Seconds until an edit is verified: one that makes a document that was not seen before."""
    before = int(page.locator(".warpdraft").get_attribute("data-revision") or 0)
    field = page.get_by_role("textbox", name=SIZE)
    field.fill(str(int(field.input_value()) + 1))
    start = time.perf_counter()
    field.press("Enter")
    page.locator(f".warpdraft[data-checked='{before + 1}']").wait_for(timeout=60_000)
    return time.perf_counter() - start


def _drained(pid: int) -> int:
    """The analysis processes that are left once closed tabs are noticed."""
    deadline = time.monotonic() + PATIENCE
    while (left := _children(pid)) > SPARE and time.monotonic() < deadline:
        time.sleep(0.5)
    return left


def _children(pid: int) -> int:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text() if Path(f"/proc/{pid}").exists() else ""
    found = set(text.split())
    for task in Path(f"/proc/{pid}/task").iterdir():  # a process belongs to the thread that started it
        found |= set((task / "children").read_text().split())
    return len(found)


def _resident(pid: int) -> float:
    """MiB of memory that the server holds."""
    line = next(n for n in Path(f"/proc/{pid}/status").read_text().splitlines() if n.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    sys.exit(main())
