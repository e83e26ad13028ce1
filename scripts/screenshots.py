"""Make docs/images/*.png: the editor's main states, taken of a running editor in a headless Chromium.

python scripts/screenshots.py [NAME ...]
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import copy

from find_browser import LAUNCH_ARGS, find_browser
from playwright.sync_api import Browser, Page, sync_playwright
from served import FIND_EDITOR, served

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "assets" / "examples"
IMAGES = ROOT / "docs" / "images"
DOCUMENTS = ("persistent_gemm", "broken_deadlock", "broken_early_release", "blackwell_pair_gemm")
SETTLED = f"""() => {{ const e = {FIND_EDITOR};
  return e && e.dataset.revision !== "" && e.dataset.revision === e.dataset.checked }}"""


def settled(page: Page) -> None:
    """The newest edit is verified, and the timeline predicted."""
    page.wait_for_function(SETTLED)
    page.locator(".warpdraft .tabs .summary", has_text="predicted").wait_for()
    page.wait_for_timeout(900)


def opened(page: Page, name: str, verdict: str = "unsafe") -> None:
    page.get_by_label("Open document").select_option(f"{name}.warpdraft.json")
    page.locator(f".warpdraft .files option[value='{name}.warpdraft.json']").first.wait_for(state="attached")
    page.locator(f".warpdraft .verdict.{verdict}").wait_for()
    settled(page)


def safe(page: Page) -> None:
    page.locator(".warpdraft .op", has_text="acc.mma").first.click()


def finding(page: Page) -> None:
    opened(page, "broken_early_release")
    page.locator(".warpdraft .finding .what").first.click()
    page.locator(".warpdraft .explained .witness li").first.wait_for()
    page.locator(".warpdraft .fix, .warpdraft .explained .page").first.wait_for()


def split(page: Page) -> None:
    page.locator(".warpdraft .column[data-task=load] .task-name").click()
    form = page.get_by_role("form", name="Split load")
    form.locator("input[name=name]").fill("load_b")
    form.get_by_role("button", name="Split").click()
    page.locator(".warpdraft .column[data-task=load_b]").wait_for()
    settled(page)


def deadlock(page: Page) -> None:
    opened(page, "broken_deadlock")
    page.locator(".warpdraft .finding .what").first.click()
    page.get_by_role("button", name="Replay").click()
    page.locator(".warpdraft .debugger .said", has_text="stuck").wait_for()


def code(page: Page) -> None:
    page.get_by_role("tab", name="Generated code").click()
    page.locator(".warpdraft .op", has_text="acc.mma").first.click()
    page.locator(".warpdraft .code li.lit").first.wait_for()


def compare(page: Page) -> None:
    """The release two operations earlier, beside the document as it was opened."""
    op = page.locator(".warpdraft .op", has_text="smem_ab.release").first
    op.click()
    for _ in range(2):
        page.keyboard.press("Alt+ArrowUp")
        page.wait_for_timeout(400)
    settled(page)
    page.get_by_role("tab", name="Compare").click()
    page.get_by_label("Compare with").select_option(label="as opened")
    page.locator(".warpdraft .compare figure").first.wait_for()


def tools(page: Page) -> None:
    """A search, and the measure of what is chosen."""
    safe(page)
    page.keyboard.press("m")
    page.locator(".warpdraft .timeline-tools .measure").wait_for()
    page.get_by_label("Search the timeline").fill("mma k 3")
    page.locator(".warpdraft .timeline-tools .detail", has_text="1 of").wait_for()


def blackwell(page: Page) -> None:
    """Tensor memory of a pair of CTAs, column by column, and the tiles that it asks for."""
    opened(page, "blackwell_pair_gemm", "safe")
    for symbol, value in (("k_tiles", "5"), ("tiles", "3")):
        page.get_by_label(symbol, exact=True).fill(value)
        page.keyboard.press("Enter")
    page.locator(".warpdraft .tabs .summary", has_text="k_tiles = 5, tiles = 3").wait_for()
    page.get_by_label("Pin lanes").click()
    for lane in ("mma.w0", "tile requests", "tensor core"):
        page.locator(".warpdraft .lanes li", has_text=lane).first.locator("input").check()
    page.get_by_label("Pin lanes").click()
    settled(page)
    edge = page.get_by_label("Size of drawer").bounding_box()
    page.mouse.move(edge["x"] + 300, edge["y"] + 2)
    page.mouse.down()
    page.mouse.move(edge["x"] + 300, 200, steps=8)
    page.mouse.up()
    page.wait_for_timeout(600)
    page.locator(".warpdraft .panel.timeline .figure").evaluate("e => { e.scrollTop = e.scrollHeight }")


def dark(page: Page) -> None:
    safe(page)


STATES: dict[str, Callable[[Page], None]] = {
    "safe": safe,
    "editor": finding,
    "split": split,
    "deadlock": deadlock,
    "code": code,
    "compare": compare,
    "tools": tools,
    "blackwell": blackwell,
    "dark": dark,
}


def take(chromium: Browser, name: str) -> None:
    """One image, of documents that nobody has touched: an earlier tab's changes would be offered."""
    with tempfile.TemporaryDirectory() as folder:
        for document in DOCUMENTS:
            copy(EXAMPLES / f"{document}.warpdraft.json", folder)
            copy(EXAMPLES / f"{document}.py", folder)
        with served(Path(folder, "persistent_gemm.warpdraft.json")) as server:
            scheme = "dark" if name == "dark" else "light"
            page = chromium.new_page(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
            page.goto(server.address)
            page.locator(".warpdraft .op").first.wait_for()
            settled(page)
            STATES[name](page)
            page.mouse.move(720, 4)
            page.wait_for_timeout(600)
            page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")
            page.close()


def main(wanted: list[str]) -> int:
    """Exit code 1 where there is no browser, 2 for a name that is no state."""
    if unknown := [name for name in wanted if name not in STATES]:
        print(f"no such image: {', '.join(unknown)}; there are {', '.join(STATES)}", file=sys.stderr)
        return 2
    browser = find_browser()
    if browser is None:
        print("no Chromium found: make dev installs one, or says why it cannot", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=list(LAUNCH_ARGS))
        for name in wanted or STATES:
            take(chromium, name)
            print(f"docs/images/{name}.png")
        chromium.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
