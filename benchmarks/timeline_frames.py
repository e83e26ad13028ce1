"""Frames per second while a timeline of very many bars is panned and zoomed, in a headless Chromium.

    python benchmarks/timeline_frames.py [--bars 50000]

The symbols' values of the persistent GEMM are raised until its timeline has that many bars. The page counts its own
animation frames while the mouse drags and the wheel turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from shutil import copy

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from find_browser import LAUNCH_ARGS, find_browser
from playwright.sync_api import Page, sync_playwright
from served import served

from warpdraft.app.tools import predict
from warpdraft.core.store import load

EXAMPLE = Path(__file__).parents[1] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
TARGET = 30  # frames per second, median

COUNT = """() => {
  window.frames_at = [];
  const tick = (t) => { frames_at.push(t); window.counting = requestAnimationFrame(tick) };
  window.counting = requestAnimationFrame(tick);
}"""
STOP = "() => { cancelAnimationFrame(window.counting); return window.frames_at }"


def main() -> int:
    """Exit code 1 where the median misses the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bars", type=int, default=50_000)
    options = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("no Chromium found", file=sys.stderr)
        return 2
    values, bars = _values(options.bars)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=list(LAUNCH_ARGS))
        with served(Path(copy(EXAMPLE, folder))) as server:
            page = chromium.new_page(viewport={"width": 1440, "height": 900})
            page.goto(server.address)
            page.locator(".warpdraft[data-checked='0']").wait_for()
            _set(page, values)
            frames = {"pan": _pan(page), "zoom": _zoom(page)}
        chromium.close()
    late = False
    for name, times in frames.items():
        gaps = [b - a for a, b in pairwise(times)]
        median = 1000 / statistics.median(gaps)
        late = late or median < TARGET
        mean, worst = 1000 * len(gaps) / sum(gaps), max(gaps)
        print(
            f"{bars} bars, {name}: median {median:5.1f} frames/s   mean {mean:5.1f}   longest frame {worst:5.0f} ms"
        )
    return 1 if late else 0


def _values(wanted: int) -> tuple[dict[str, int], int]:
    """Symbols' values that give at least ``wanted`` drawn bars."""
    document, tiles = load(EXAMPLE), 16
    while True:
        values = {"tiles": tiles, "k_tiles": 64}
        drawing = predict(document, values)[0]
        number = len(drawing.bars["left"]) + len(drawing.waits["left"]) + len(drawing.stages["left"])
        if number >= wanted:
            return values, number
        tiles = max(tiles + 1, tiles * wanted // number + 1)


def _set(page: Page, values: dict[str, int]) -> None:
    for name, value in values.items():
        field = (
            page.locator(".warpdraft .trip", has_text=name).filter(has=page.locator("input")).locator("input")
        )
        field = field.nth(0) if name == "k_tiles" else page.locator(".warpdraft .trip input").first
        field.fill(str(value))
        field.press("Enter")
    words = f"tiles = {values['tiles']}"
    page.locator(".warpdraft .tabs .summary", has_text=words).wait_for(timeout=120_000)
    page.wait_for_timeout(3000)


def _pan(page: Page) -> list[float]:
    """Zooms in until only part is seen, then drags to and fro."""
    for _ in range(4):
        page.locator(".warpdraft").press("w")
        page.wait_for_timeout(300)
    box = page.locator(".warpdraft .figure").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + 60
    page.evaluate(COUNT)
    for direction in (-1, 1, -1, 1):
        page.mouse.move(x, y)
        page.mouse.down()
        for step in range(40):
            page.mouse.move(x + direction * step * 8, y)
        page.mouse.up()
    return page.evaluate(STOP)


def _zoom(page: Page) -> list[float]:
    """Turns the wheel out and in."""
    box = page.locator(".warpdraft .figure").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    page.evaluate(COUNT)
    for direction in (1, -1, 1, -1):
        for _ in range(12):
            page.mouse.wheel(0, direction * 60)
            page.wait_for_timeout(16)
    return page.evaluate(STOP)


if __name__ == "__main__":
    sys.exit(main())
