"""How long an edit takes from the key to the screen, in a real browser on the persistent GEMM.

    python benchmarks/editor_latency.py [--edits 60]

Two times are told for each edit: until the schedule is painted with it, and until the new verdict is painted too. The page
measures itself: from its key handler to the animation frame after the change.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from shutil import copy

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from find_browser import LAUNCH_ARGS, find_browser
from playwright.sync_api import sync_playwright

EXAMPLE = Path(__file__).parents[1] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
TARGET = 300  # milliseconds, 95 of 100 edits

# Waits for the revision after ``before`` to be shown and verified; resolves to both times in milliseconds.
MEASURE = """(before) => new Promise((done) => {
  const find = (root) => root.querySelector?.('.warpdraft') ?? [...root.querySelectorAll('*')]
    .map((e) => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
  const editor = find(document);
  const start = performance.now();
  let painted = 0;
  const look = () => {
    const shown = Number(editor.dataset.revision), checked = Number(editor.dataset.checked || -1);
    if (shown > before && !painted) painted = performance.now() - start;
    if (shown > before && checked === shown) return done([painted, performance.now() - start]);
    requestAnimationFrame(look);
  };
  const key = JSON.parse(editor.dataset.bench);
  editor.dispatchEvent(new KeyboardEvent('keydown', { ...key, bubbles: true }));
  requestAnimationFrame(look);
})"""


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
    with tempfile.TemporaryDirectory() as folder:
        document = Path(copy(options.document, folder))
        server, address = _serve(document)
        try:
            times = _measure(browser, address, options.edits)
        finally:
            server.terminate()
            server.wait()
    late = False
    for name, values in zip(("painted", "verified and painted"), zip(*times, strict=True), strict=True):
        p95 = statistics.quantiles(values, n=20)[-1]
        late = late or p95 > TARGET
        print(
            f"{name:22} median {statistics.median(values):6.0f} ms   p95 {p95:6.0f} ms   max {max(values):6.0f} ms"
        )
    return 1 if late else 0


def _serve(document: Path) -> tuple[subprocess.Popen, str]:
    """The editor in a process of its own, and its address."""
    code = f"from pathlib import Path; from warpdraft.app.server import serve; serve(Path({str(document)!r}), 0, False)"
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    address = next(word for word in line.split() if word.startswith("http"))
    for _ in range(100):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            break
        except OSError:
            time.sleep(0.1)
    return server, address


def _measure(browser: str, address: str, edits: int) -> list[tuple[float, float]]:
    """Moves an operation down and up again with the keyboard."""
    times = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=list(LAUNCH_ARGS))
        page = chromium.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        page.locator(".warpdraft[data-checked='0']").wait_for()
        page.locator(".warpdraft .op", has_text="wait(1)").first.click()
        page.wait_for_timeout(1000)
        for number in range(edits):
            key = {"key": "ArrowUp" if number % 2 == 0 else "ArrowDown", "altKey": True}
            page.locator(".warpdraft").evaluate("(e, key) => { e.dataset.bench = JSON.stringify(key) }", key)
            before = page.locator(".warpdraft").evaluate("(e) => Number(e.dataset.revision)")
            times.append(tuple(page.evaluate(MEASURE, before)))
            page.wait_for_timeout(120)
        chromium.close()
    return times


if __name__ == "__main__":
    sys.exit(main())
