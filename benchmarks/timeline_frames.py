"""Frames per second while a timeline of very many bars is panned and zoomed, in a headless Chromium.

    python benchmarks/timeline_frames.py [--bars 50000] [--runs 1]

The symbols' values of the persistent GEMM are raised until its timeline has that many bars. Then a mouse drags at 125 Hz,
and a wheel turns at 60 Hz, without waiting for the page. A frame counts where the figure is painted with another window
than before: what a person sees move.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from shutil import copy

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from find_browser import LAUNCH_ARGS, find_browser
from playwright.async_api import Page, async_playwright
from served import served

from warpdraft.app.tools import predict
from warpdraft.core.store import load

EXAMPLE = Path(__file__).parents[1] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
TARGET = 30  # frames per second while panning, median; zooming is told only

# Notes when the timeline is painted with another window, and how long it and the figures beside it take for that.
WATCH = """() => {
  window.moved = [];
  window.painting = [];
  const figures = (view) => view.computed_renderer_views ? [view] : [...view.child_views ?? []].flatMap(figures);
  for (const view of [...Bokeh.index.roots].flatMap(figures)) {
    const { name, x_range } = view.model;
    if (!name?.startsWith("warpdraft-")) continue;
    const paint = view._actual_paint;
    let shown = "";
    view._actual_paint = function () {
      const began = performance.now();
      paint.call(this);
      window.painting.push(performance.now() - began);
      const window_ = `${x_range.start} ${x_range.end}`;
      if (name === "warpdraft-timeline" && window_ !== shown) window.moved.push(began);
      shown = window_;
    };
  }
}"""
START = "() => { window.moved = []; window.painting = [] }"
STOP = "() => ({ moved: window.moved, painting: window.painting.reduce((a, b) => a + b, 0) })"

Gesture = tuple[list[float], int, float]  # milliseconds between frames, frames, milliseconds spent painting


def main() -> int:
    """Exit code 1 where the median of panning misses the target."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bars", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=1, help="pages opened, one after the other")
    options = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("no Chromium found", file=sys.stderr)
        return 2
    values, bars = _values(options.bars)
    medians = []
    for _ in range(options.runs):
        for name, (gaps, frames, painting) in asyncio.run(_measured(browser, values)).items():
            median = 1000 / statistics.median(gaps)
            if name == "pan":
                medians.append(median)
            print(
                f"{bars} bars, {name}: median {median:5.1f} frames/s   mean {1000 * len(gaps) / sum(gaps):5.1f}   "
                f"longest frame {max(gaps):4.0f} ms   painting {painting / frames:4.1f} ms a frame",
                flush=True,
            )
    return 1 if min(medians) < TARGET else 0


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


async def _measured(browser: str, values: dict[str, int]) -> dict[str, Gesture]:
    with tempfile.TemporaryDirectory() as folder, served(Path(copy(EXAMPLE, folder))) as server:
        async with async_playwright() as playwright:
            chromium = await playwright.chromium.launch(executable_path=browser, args=list(LAUNCH_ARGS))
            page = await chromium.new_page(viewport={"width": 1440, "height": 900})
            await page.goto(server.address)
            await page.locator(".warpdraft[data-checked='0']").wait_for()
            await _set(page, values)
            await page.evaluate(WATCH)
            gestures = {"pan": await _pan(page), "zoom": await _zoom(page)}
            await page.wait_for_timeout(1000)  # for the server to have said all
            await chromium.close()
    return gestures


async def _set(page: Page, values: dict[str, int]) -> None:
    for name, value in values.items():
        trips = page.locator(".warpdraft .trip")
        field = (
            trips.filter(has_text=name).locator("input").first
            if name == "k_tiles"
            else trips.locator("input").first
        )
        await field.fill(str(value))
        await field.press("Enter")
    words = f"tiles = {values['tiles']}"
    await page.locator(".warpdraft .tabs .summary", has_text=words).wait_for(timeout=120_000)
    await page.wait_for_timeout(3000)


async def _pan(page: Page) -> Gesture:
    """Zooms in until only part is seen, then drags to and fro, 400 pixels in two seconds."""
    for _ in range(4):
        await page.locator(".warpdraft").press("w")
        await page.wait_for_timeout(300)
    x, y = await _middle(page)
    mouse = await Mouse.of(page)
    gaps, frames, painting = [], 0, 0.0
    for direction in (-1, 1, -1, 1):
        await page.mouse.move(x, y)
        await page.mouse.down()
        await page.evaluate(START)
        for step in range(250):
            await mouse.send("mouseMoved", x + direction * step * 1.6, y, button="left", buttons=1)
            await asyncio.sleep(0.008)
        more = await mouse.stop()
        await page.mouse.up()
        gaps, frames, painting = gaps + more[0], frames + more[1], painting + more[2]
    return gaps, frames, painting


async def _zoom(page: Page) -> Gesture:
    """Turns the wheel out and in."""
    x, y = await _middle(page)
    mouse = await Mouse.of(page)
    await page.evaluate(START)
    for direction in (1, -1, 1, -1):
        for _ in range(30):
            await mouse.send("mouseWheel", x, y, deltaX=0, deltaY=direction * 25)
            await asyncio.sleep(0.016)
    return await mouse.stop()


class Mouse:
    """A mouse that does not wait for the page, as a hand does not."""

    def __init__(self, page: Page, session: object) -> None:
        self._page, self._session, self._sent = page, session, []

    @classmethod
    async def of(cls, page: Page) -> Mouse:
        """One of ``page``."""
        return cls(page, await page.context.new_cdp_session(page))

    async def send(self, kind: str, x: float, y: float, **more: object) -> None:
        """One event of the browser's protocol."""
        event = {"type": kind, "x": x, "y": y, **more}
        self._sent.append(asyncio.ensure_future(self._session.send("Input.dispatchMouseEvent", event)))

    async def stop(self) -> Gesture:
        """What was painted since the start, once every event has arrived."""
        await asyncio.gather(*self._sent)
        self._sent.clear()
        told = await self._page.evaluate(STOP)
        return [b - a for a, b in pairwise(told["moved"])], len(told["moved"]), told["painting"]


async def _middle(page: Page) -> tuple[float, float]:
    box = await page.locator(".warpdraft .figure").bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + 60


if __name__ == "__main__":
    sys.exit(main())
