"""The timeline's tools in the browser."""

import json
import re

import pytest

from warpdraft.core import store
from warpdraft.core.simulate import simulate, to_perfetto

pytestmark = pytest.mark.browser


@pytest.fixture
def timeline(editor):
    editor.page.locator(".warpdraft .tabs .summary", has_text="cycles").wait_for()
    editor.page.locator(".warpdraft .figure canvas").first.wait_for()
    editor.page.wait_for_timeout(400)
    return editor


BODY = """() => {
  const figures = (view) => view.computed_renderer_views ? [view] : [...view.child_views ?? []].flatMap(figures);
  const body = [...Bokeh.index.roots].flatMap(figures).find((view) => view.model.name === "warpdraft-timeline");
  const { renderers, x_range } = body.model;
  const data = renderers.map((r) => r.data_source.data).find((d) => d.op?.includes("%s"));
  const box = body.canvas_view.el.getBoundingClientRect();
  const of = (i) => [data.top[i], data.left[i] - data.right[i]];
  const before = (i, j) => of(i)[0] - of(j)[0] || of(i)[1] - of(j)[1];
  const [at] = [...data.op.keys()].filter((i) => data.op[i] === "%s").sort(before);
  return { start: x_range.start, x: box.x + body.frame.x_scale.compute((data.left[at] + data.right[at]) / 2),
    y: box.y + body.frame.y_scale.compute((data.top[at] + data.bottom[at]) / 2) };
}"""


def test_a_bar_is_found_under_the_mouse_and_follows_a_drag(timeline):
    page = timeline.page
    op = timeline.op("acc.mma").locator("xpath=ancestor::li[1]").get_attribute("data-id")
    body = BODY.replace("%s", op)
    place = page.evaluate(body)
    tooltip = page.locator(".bk-Tooltip", has_text=op)
    page.mouse.move(place["x"], place["y"])
    tooltip.first.wait_for()
    page.keyboard.press("w")
    page.wait_for_timeout(600)
    place = page.evaluate(body)
    page.mouse.move(place["x"], place["y"])
    page.mouse.down()
    page.mouse.move(place["x"] - 60, place["y"], steps=6)
    page.wait_for_function(f"(before) => ({body})().start > before", arg=place["start"])
    assert tooltip.count() == 0 or not tooltip.first.is_visible()
    page.mouse.up()
    page.wait_for_timeout(600)
    place = page.evaluate(body)
    page.mouse.move(place["x"] + 1, place["y"])
    tooltip.first.wait_for()
    page.mouse.click(place["x"], place["y"])
    page.locator(f".warpdraft li[data-id='{op}'][aria-selected='true']").wait_for()


def test_search_walks_the_matches(timeline):
    page = timeline.page
    timeline.press("t")
    page.keyboard.type("mma_group")
    status = page.locator(".warpdraft .timeline-tools .detail")
    status.wait_for()
    page.keyboard.type(" k 3")
    page.locator(".warpdraft .timeline-tools .detail", has_text="1 of").wait_for()
    page.keyboard.press("Enter")
    page.locator(".warpdraft .timeline-tools .detail", has_text="2 of").wait_for()
    page.keyboard.press("Escape")
    status.wait_for(state="detached")


def test_measure_by_key_and_by_drag(timeline):
    page = timeline.page
    timeline.op("acc.mma").click()
    timeline.press("m")
    told = page.locator(".warpdraft .timeline-tools .measure")
    told.wait_for()
    assert "cycles, from" in told.inner_text()
    before = told.inner_text()
    box = page.locator(".warpdraft .figure").bounding_box()
    y = box["y"] + 50
    for _ in range(8):  # a busy page may not have taken up the tool when the first drag begins
        page.mouse.move(box["x"] + 400, y)
        page.mouse.down()
        page.mouse.move(box["x"] + 500, y, steps=6)
        page.mouse.move(box["x"] + 600, y, steps=6)
        page.mouse.up()
        page.wait_for_timeout(1500)
        if told.inner_text() != before:
            break
    assert told.inner_text() != before
    page.get_by_role("button", name="Clear the measure").click()
    told.wait_for(state="detached")
    timeline.press("m")


def test_a_pinned_lane_comes_first(timeline):
    page = timeline.page
    page.locator(".warpdraft .lanes summary").click()
    page.locator(".warpdraft .lanes label", has_text="tensor core").click()
    page.locator(".warpdraft .lanes .menu li").first.get_by_text("tensor core").wait_for()
    page.locator(".warpdraft .lanes summary", has_text="1 pinned").wait_for()
    assert page.locator(".warpdraft .minimap canvas").count()


def test_exports(timeline):
    page = timeline.page
    texts = {}
    for form in ("perfetto", "svg", "png"):
        with page.expect_download() as download:
            page.get_by_label("Export the timeline").select_option(form)
        with open(download.value.path(), "rb") as file:
            texts[form] = file.read()
    assert json.loads(texts["perfetto"])["traceEvents"]
    assert texts["svg"].startswith(b"<svg") and texts["png"].startswith(b"\x89PNG")


def test_a_pair_of_ctas_its_tensor_memory_and_its_tiles(editor):
    """Two groups of lanes, the columns of each CTA, the requests for tiles: in the image, in the menu, as rows."""
    page = editor.page
    page.get_by_label("Open document").select_option("blackwell_pair_gemm.warpdraft.json")
    page.locator(".warpdraft .column[data-task=fetch]").wait_for()
    editor.settled()
    page.get_by_label("k_tiles", exact=True).fill("4")
    page.keyboard.press("Enter")
    page.locator(".warpdraft .tabs .summary", has_text="k_tiles = 4, tiles = 2").wait_for()
    with page.expect_download() as download:
        page.get_by_label("Export the timeline").select_option("svg")
    with open(download.value.path()) as file:
        drawn = file.read()
    lanes = re.findall(r'text-anchor="end"[^>]*>([^<]+)</text>', drawn)
    first, second = lanes.index("load.w0"), lanes.index("load@1.w0")
    assert {"mma.w0", "tile requests", "TMA", "tensor core"} <= set(lanes[first:second])
    assert {"mma@1.w0", "TMA@1", "store@1"} <= set(lanes[second:]) and lanes[-2:] == ["TMEM", "TMEM@1"]
    assert lanes.index("smem_ab") + 1 == lanes.index("TMEM")  # beside shared memory's stages
    for held in ("columns 0-511", "acc[0] columns 0-255", "acc[1] columns 256-511"):
        assert (
            len(re.findall(f"<title>{re.escape(held)}: ", drawn)) % 2 == 0 and held in drawn
        )  # in both CTAs
    page.get_by_label("Pin lanes").click()
    page.locator(".warpdraft .lanes label").get_by_text("TMEM@1", exact=True).click()
    page.locator(".warpdraft .lanes summary", has_text="1 pinned").wait_for()
    page.get_by_role("button", name="Show the timeline as a table").click()
    page.locator(".warpdraft .facts-table td", has_text="tile requests").first.wait_for()


def test_a_measured_trace_is_laid_over_the_prediction(timeline, folder, tmp_path):
    document = store.load(folder / "persistent_gemm.warpdraft.json")
    trace = tmp_path / "measured.json"
    trace.write_text(json.dumps(to_perfetto(simulate(document, {"tiles": 2, "k_tiles": 9}))))
    page = timeline.page
    page.locator(".warpdraft .timeline-tools input[type=file]").set_input_files(trace)
    shown = page.get_by_label("What is shown")
    shown.wait_for()
    page.locator(".warpdraft .lanes summary").click()
    page.locator(".warpdraft .lanes label", has_text="TMA (measured)").wait_for()
    page.keyboard.press("Escape")
    shown.select_option("predicted")
    page.locator(".warpdraft .lanes label", has_text="(measured)").first.wait_for(state="detached")
    page.get_by_role("button", name="Take the measured trace away").click()
    page.locator(".warpdraft .timeline-tools input[type=file]").set_input_files(
        {"name": "bad.json", "mimeType": "application/json", "buffer": b"{}"}
    )
    page.locator(".warpdraft .notice.sev-error", has_text="no trace").wait_for()
