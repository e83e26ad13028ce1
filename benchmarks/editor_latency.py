"""How long an edit takes from the key to the screen, in a real browser on the persistent GEMM.

    python benchmarks/editor_latency.py [--edits 60]

Two times are told for each edit: until the schedule is painted with it, and until the new verdict is painted too. The page
measures itself: from its key handler to the animation frame after the change. On a machine that does other work too, compare
the processor's time for an edit, of the server and of its analysis processes. Told first: the time from the request of the
page until the schedule, and until the verdict, is there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path
from shutil import copy

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from find_browser import LAUNCH_ARGS, find_browser
from playwright.sync_api import sync_playwright
from served import FIND_EDITOR, Server, served

EXAMPLE = Path(__file__).parents[1] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
TARGET = 300  # milliseconds, 95 of 100 edits
OPENINGS = 5
TICK = os.sysconf("SC_CLK_TCK")

# Waits for the revision after ``before`` to be shown and verified; resolves to both times in milliseconds.
MEASURE = f"""(before) => new Promise((done) => {{
  const editor = {FIND_EDITOR};
  const start = performance.now();
  let painted = 0;
  const look = () => {{
    const shown = Number(editor.dataset.revision), checked = Number(editor.dataset.checked || -1);
    if (shown > before && !painted) painted = performance.now() - start;
    if (shown > before && checked === shown) return done([painted, performance.now() - start]);
    requestAnimationFrame(look);
  }};
  const key = JSON.parse(editor.dataset.bench);
  editor.dispatchEvent(new KeyboardEvent('keydown', {{ ...key, bubbles: true }}));
  requestAnimationFrame(look);
}})"""

# Milliseconds since the page was asked for, once what is looked for is painted.
SHOWN = f"""(wanted) => new Promise((done) => {{
  const look = () => {{
    const editor = {FIND_EDITOR};
    if (editor?.querySelector(wanted)) return requestAnimationFrame(() => done(performance.now()));
    return requestAnimationFrame(look);
  }};
  look();
}})"""


def main() -> int:
    """Prints medians and 95th percentiles; exit code 1 where a percentile misses the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=60)
    parser.add_argument("--document", type=Path, default=EXAMPLE)
    options = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("no Chromium found", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, served(Path(copy(options.document, folder))) as server:
        opened, times, cpu = _measure(browser, server, options.edits)
    for name, values in zip(("schedule shown", "verdict shown"), zip(*opened, strict=True), strict=True):
        print(f"{name:22} median {statistics.median(values):6.0f} ms   max {max(values):6.0f} ms")
    late = False
    for name, values in zip(("painted", "verified and painted"), zip(*times, strict=True), strict=True):
        p95 = statistics.quantiles(values, n=20)[-1]
        late = late or p95 > TARGET
        print(
            f"{name:22} median {statistics.median(values):6.0f} ms   p95 {p95:6.0f} ms   max {max(values):6.0f} ms"
        )
    print(f"{'processor time an edit':22} server {cpu[0]:6.0f} ms   analysis {cpu[1]:6.0f} ms")
    return 1 if late else 0


def _measure(browser: str, server: Server, edits: int) -> tuple[list, list, tuple[float, float]]:
    """Opens the page some times; then moves an operation down and up again with the keyboard."""
    opened, times = [], []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=list(LAUNCH_ARGS))
        for _ in range(OPENINGS):
            page = chromium.new_page(viewport={"width": 1440, "height": 900})
            page.goto(server.address, wait_until="commit")
            opened.append(
                (page.evaluate(SHOWN, ".op"), page.evaluate(SHOWN, ".verdict.safe, .verdict.unsafe"))
            )
            page.wait_for_timeout(2500)
            page.close()
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.goto(server.address)
        page.locator(".warpdraft[data-checked='0']").wait_for()
        page.locator(".warpdraft .op", has_text="wait(1)").first.click()
        page.wait_for_timeout(12_000)  # until the sessions of the closed pages have ended
        before = _processor(server.process.pid)
        for number in range(edits):
            key = {"key": "ArrowUp" if number % 2 == 0 else "ArrowDown", "altKey": True}
            page.locator(".warpdraft").evaluate("(e, key) => { e.dataset.bench = JSON.stringify(key) }", key)
            revision = page.locator(".warpdraft").evaluate("(e) => Number(e.dataset.revision)")
            times.append(tuple(page.evaluate(MEASURE, revision)))
            page.wait_for_timeout(120)
        after = _processor(server.process.pid)
        chromium.close()
    return opened, times, tuple(1000 * (b - a) / edits for a, b in zip(before, after, strict=True))


def _processor(pid: int) -> tuple[float, float]:
    """Seconds of processor time: of the server, and of its analysis processes."""
    children = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        children |= set((task / "children").read_text().split())
    return _seconds(str(pid)), sum(_seconds(child) for child in children)


def _seconds(pid: str) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


if __name__ == "__main__":
    sys.exit(main())
