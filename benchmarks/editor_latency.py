"""How long an edit takes from the hand to the screen, in a real browser: by default on the persistent GEMM.

    python benchmarks/editor_latency.py [--edits 100] [--document PATH] [--median 150] [--p95 300]

The edits are of all kinds, at ops chosen by a seeded generator: move, duplicate, delete, insert, wrap, a field of a
resource, a new symbol, a dependency removed, undo and redo; each by key, click or field, as a person does it. Three times
are told: until the schedule is painted with the edit, until the new verdict is painted too, and until all findings are: of
a schedule that breaks a rule they may come later. The verdict after an undo or redo is known before; so the times of the
other edits are told apart. The page measures itself:
from the input event's own time to the end of the frame that shows the change. On a machine that does other work too,
compare the processor's time for an edit, of the server, its analysis processes and the browser. Told first: the time from
the request of the page until the schedule, and until the verdict, is there.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copy

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

from find_browser import LAUNCH_ARGS, find_browser
from playwright.sync_api import Error, Page, sync_playwright
from served import FIND_EDITOR, Server, served

EXAMPLE = Path(__file__).parents[1] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
FIRST = 2500  # milliseconds until the first useful paint
OPENINGS = 5
PAUSE = 400  # milliseconds between two edits: what is drawn after the verdict is then over
TICK = os.sysconf("SC_CLK_TCK")

# Notes for each edit when its input came, and when the frames that show it and its verdict had been painted.
NOTE = f"""() => {{
  const editor = {FIND_EDITOR};
  window.edits = [];
  let input = 0;
  for (const kind of ['keydown', 'change', 'click']) addEventListener(kind, (event) => {{ input = event.timeStamp; }}, true);
  const after = (note) => requestAnimationFrame(() => {{
    const {{ port1, port2 }} = new MessageChannel();
    port1.onmessage = () => note(performance.now());
    port2.postMessage(0);
  }});
  let revision = editor.dataset.revision;
  new MutationObserver(() => {{
    const {{ revision: shown, verdict, checked }} = editor.dataset;
    if (shown !== revision) {{
      revision = shown;
      const edit = {{ input }};
      edits.push(edit);
      after((now) => {{ edit.painted = now - edit.input; }});
    }}
    const edit = edits.at(-1);
    if (edit && verdict === shown && !edit.told) {{
      edit.told = true;
      after((now) => {{ edit.verdict = now - edit.input; }});
    }}
    if (edit && checked === shown && !edit.checked) {{
      edit.checked = true;
      after((now) => {{ edit.findings = now - edit.input; }});
    }}
  }}).observe(editor, {{ attributes: true, attributeFilter: ['data-revision', 'data-verdict', 'data-checked'] }});
}}"""
STEPS = ("painted", "verdict", "findings")
COUNT = "() => edits.length"
LATEST = "(before) => edits.length > before && edits.at(-1).findings !== undefined && edits.at(-1)"

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
    """Prints medians and 95th percentiles; exit code 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=100)
    parser.add_argument("--document", type=Path, default=EXAMPLE)
    parser.add_argument("--median", type=float, default=150, help="goal in milliseconds")
    parser.add_argument("--p95", type=float, default=300, help="goal in milliseconds")
    options = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("no Chromium found", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder, served(Path(copy(options.document, folder))) as server:
        opened, edits, cpu = _measure(browser, server, options.edits)
    schedule = [first for first, _ in opened]
    for name, values in (("schedule shown", schedule), ("verdict shown", [last for _, last in opened])):
        print(f"{name:24} median {statistics.median(values):6.0f} ms   max {max(values):6.0f} ms")
    for name in STEPS:
        _tell(f"edit to {name}", [edit[name] for _, edit in edits])
    for name in STEPS:
        _tell(f"but undo, redo: {name}", [edit[name] for kind, edit in edits if kind not in ("undo", "redo")])
    verified = [edit["verdict"] for _, edit in edits]
    for kind in dict.fromkeys(kind for kind, _ in edits):
        _tell(f"  {kind}: verdict", [edit["verdict"] for k, edit in edits if k == kind])
    print("processor time an edit " + "   ".join(f"{name} {ms:.0f} ms" for name, ms in cpu.items()))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    late = statistics.median(verified) >= options.median or _p95(verified) >= options.p95
    return 1 if late or statistics.median(schedule) >= FIRST else 0


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def _tell(name: str, values: list[float]) -> None:
    print(
        f"{name:24} median {statistics.median(values):6.0f} ms   p95 {_p95(values):6.0f} ms"
        f"   max {max(values):6.0f} ms   of {len(values)}"
    )


def _measure(browser: str, server: Server, number: int) -> tuple[list, list, dict[str, float]]:
    """Opens the page some times; then edits."""
    opened, edits = [], []
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
        page.wait_for_timeout(12_000)  # until the sessions of the closed pages have ended
        page.evaluate(NOTE)
        before = _processor(server.process.pid)
        for kind, act in _acts(page, random.Random(1)):
            if len(edits) == number:
                break
            if edit := _timed(page, act):
                edits.append((kind, edit))
        after = _processor(server.process.pid)
        chromium.close()
    return opened, edits, {name: 1000 * (after[name] - before[name]) / number for name in after}


def _timed(page: Page, act: Callable[[], None]) -> dict[str, float] | None:
    """The times of one edit; None for an edit that was refused."""
    before = page.evaluate(COUNT)
    act()
    try:
        page.wait_for_function(f"() => edits.length > {before}", timeout=1000, polling=50)
    except Error:
        return None
    page.wait_for_timeout(PAUSE)
    page.wait_for_function(f"() => ({LATEST})({before})", timeout=60_000, polling=100)
    return page.evaluate(LATEST, before)


def _acts(page: Page, rng: random.Random) -> Iterator[tuple[str, Callable[[], None]]]:
    """Edits without end, each undone before the next."""
    ops, keyboard = page.locator(".warpdraft .op"), page.keyboard

    def undo() -> None:
        page.get_by_role("button", name="Undo").click()

    def insert() -> None:
        keyboard.press("i")
        keyboard.press("Enter")

    def set_field() -> None:
        field = page.locator(
            ".warpdraft .resources .resource .fields input.numeric:not([placeholder='auto'])"
        )
        field = field.nth(rng.randrange(field.count()))
        field.fill(str(int(field.input_value() or 1) + 1))
        field.press("Enter")

    def add_symbol() -> None:
        field = page.get_by_role("textbox", name="Add to Symbols: name")
        field.fill("more")
        field.press("Enter")

    def remove_edge() -> None:
        edge = page.locator(".warpdraft .graph g.edge[id^='edge:']")
        edge.nth(rng.randrange(edge.count())).press("Enter")
        keyboard.press("Delete")

    acts: dict[str, Callable[[], None]] = {
        "move": lambda: keyboard.press(rng.choice(("Alt+ArrowUp", "Alt+ArrowDown"))),
        "duplicate": lambda: keyboard.press("Control+d"),
        "delete": lambda: keyboard.press("Delete"),
        "insert": insert,
        "wrap": lambda: page.get_by_label("Wrap in a block").select_option(index=1) and None,
        "field": set_field,
        "symbol": add_symbol,
        "dependency": remove_edge,
    }
    while True:
        for kind, act in acts.items():
            ops.nth(rng.randrange(ops.count())).click()
            page.wait_for_timeout(150)
            yield kind, act
            yield "undo", undo
            if rng.random() < 0.25:
                yield "redo", lambda: page.get_by_role("button", name="Redo").click()
                yield "undo", undo


def _processor(pid: int) -> dict[str, float]:
    """Seconds of processor time: of the server, its analysis processes, and the browser."""
    found = {"server": _seconds(pid), "analysis": 0.0, "browser": 0.0}
    for child in _below(pid):
        found["analysis"] += _seconds(child)
    for child in _below(os.getpid()):
        if b"chrom" in _command(child):
            found["browser"] += _seconds(child)
    return found


def _below(pid: int) -> list[int]:
    """The processes that ``pid`` started, and those that these did."""
    children = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children += [int(word) for word in (task / "children").read_text().split()]
        except OSError:
            continue
    return children + [below for child in children for below in _below(child)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


if __name__ == "__main__":
    sys.exit(main())
