"""Search, measure, lanes, measured traces and pictures of the timeline."""

import importlib.util
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from bokeh.events import SelectionGeometry

from warpdraft.app.analysis import Here
from warpdraft.app.measured import TraceError, read_trace
from warpdraft.app.session import Session
from warpdraft.app.timeline_pane import TimelinePane
from warpdraft.app.tools import TOOLS
from warpdraft.app.views.minimap import BINS, Minimap, density
from warpdraft.app.views.timeline import drawing
from warpdraft.app.views.timeline_figure import TimelineFigure
from warpdraft.app.views.timeline_lanes import interleaved, joined, pinned
from warpdraft.app.views.timeline_order import MARK
from warpdraft.app.views.timeline_search import matches, measure
from warpdraft.app.views.timeline_svg import timeline_svg
from warpdraft.app.views.words import op_text
from warpdraft.core.simulate import SM90_COSTS, simulate, to_perfetto
from warpdraft.core.tree import ops_of

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)
DOCUMENT = sample.gemm()
TIMELINE = simulate(DOCUMENT, {"k_tiles": 6, "tiles": 2})
WORDS = {op.id: op_text(op) for task in DOCUMENT.tasks for op in ops_of(task)}
DRAWING = drawing(TIMELINE)
QUIET = replace(TOOLS, verify=lambda *_, **__: None, predict=lambda *_: None, lower=lambda *_: None)


def in_bands(picture):
    """Whether every bar lies in the band that it names."""
    where = {band.label: band for band in picture.bands}
    return all(
        where[lane].top <= top < bottom <= where[lane].bottom + 1e-9
        for columns in (picture.bars, picture.waits)
        for lane, top, bottom in zip(columns["lane"], columns["top"], columns["bottom"], strict=True)
    )


def test_pinned_lanes_come_first_with_all_that_lies_in_them():
    labels = [band.label for band in DRAWING.bands]
    moved = pinned(DRAWING, {"TMA", "smem_ab"})
    assert [band.label for band in moved.bands][:2] == ["TMA", "smem_ab"]
    assert sorted(band.label for band in moved.bands) == sorted(labels)
    assert in_bands(moved) and moved.height <= DRAWING.height
    assert moved.bars["left"] == DRAWING.bars["left"]
    ring = next(band for band in moved.bands if band.label == "smem_ab")
    assert all(ring.top <= top <= ring.bottom for top in moved.stages["top"])
    assert pinned(DRAWING, ()) is DRAWING


def test_two_timelines_lie_on_one_axis():
    both = joined(DRAWING, DRAWING, " (measured)", "measured")
    assert in_bands(both) and len(both.bands) == 2 * len(DRAWING.bands)
    assert {band.kind for band in both.bands[len(DRAWING.bands) :]} == {"measured"}
    mixed = interleaved(both, " (measured)")
    labels = [band.label for band in mixed.bands]
    assert in_bands(mixed) and labels[1] == labels[0] + " (measured)"


def test_search_finds_bars_by_any_word_in_time_order():
    found = matches(DRAWING, "load.04")
    assert found and all(match.op == "load.04" for match in found)
    assert [m.left for m in found] == sorted(m.left for m in found)
    assert {m.lane for m in matches(DRAWING, "tma LOAD.04")} == {"TMA"}
    assert matches(DRAWING, "  ") == () == matches(DRAWING, "nothing like it")


def test_a_measure_tells_how_busy_each_lane_is():
    span = measure(DRAWING, TIMELINE.total, -5)
    assert (span.low, span.high) == (0, TIMELINE.total)
    assert all(0 < cycles <= TIMELINE.total for _, cycles in span.busy)
    assert f"{TIMELINE.total:,} cycles" in span.text
    assert measure(DRAWING, 5, 5).busy == ()


def test_our_own_trace_read_back_is_the_timeline():
    read = read_trace(DOCUMENT, json.dumps(to_perfetto(TIMELINE)))
    assert read.timeline.total == TIMELINE.total and read.notes == ("in cycles",)
    assert len(read.timeline.bars) == len(TIMELINE.bars)
    assert {lane.name for lane in read.timeline.lanes} == {lane.name for lane in TIMELINE.lanes}
    assert [b.label for b in drawing(read.timeline).bands if b.kind == "warp"] == [
        b.label for b in DRAWING.bands if b.kind == "warp"
    ]


def test_a_chrome_trace_of_another_tool():
    at = {"op": "load.05", "lane": "TMA", "at": "tile 0, k 1"}
    events = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 7, "args": {"name": "load.w8"}},
        {"ph": "X", "name": "load.04", "pid": 1, "tid": 7, "ts": 100.0, "dur": 2.0},
        {"ph": "X", "name": "cudaLaunch", "pid": 1, "tid": 7, "ts": 0.0, "dur": 2.0},
        {"ph": "B", "name": "x", "args": at, "pid": 1, "tid": 9, "ts": 101.0},
        {"ph": "E", "pid": 1, "tid": 9, "ts": 104.0},
    ]  # fmt: skip
    read = read_trace(DOCUMENT, json.dumps(events), clock=1000)
    bars = {bar.op: bar for bar in read.timeline.bars}
    assert (bars["load.04"].start, bars["load.04"].end) == (0, 2000)
    assert (bars["load.05"].start, bars["load.05"].end) == (1000, 4000)
    assert bars["load.05"].at == (("tile", 0), ("k", 1))
    assert read.timeline.lanes[bars["load.04"].lane].task == "load"
    assert "1 events name no op" in read.notes[1]
    said = {"traceEvents": events, "otherData": {"cycles_per_us": 500}}
    assert read_trace(DOCUMENT, json.dumps(said)).timeline.total == 2000


@pytest.mark.parametrize(
    "text, why",
    [
        ("{", "no JSON"),
        ("3", "no trace"),
        ('{"traceEvents": []}', "no event"),
        ('[{"ph": "X", "name": "load.04", "ts": "soon"}]', "makes no sense"),
        ('[{"ph": "M", "name": "thread_name"}]', "makes no sense"),
    ],
)
def test_what_is_no_trace_is_told(text, why):
    with pytest.raises(TraceError, match=why):
        read_trace(DOCUMENT, text)


def test_the_picture_is_well_formed_and_asks_for_nothing():
    for theme in ("light", "dark"):
        text = timeline_svg(DRAWING, {"load": 0, "math": 1}, theme, title="a <b> & c")
        root = ET.fromstring(text)
        assert root.tag.endswith("svg") and "http" not in text.replace("http://www.w3.org/2000/svg", "")
        words = "".join(root.itertext())
        assert "TMA" in words and "a <b> & c" in words
    part = timeline_svg(DRAWING, {}, window=(0, 100))
    assert len(part) < len(text)


def test_the_minimap_shows_how_busy_each_lane_is():
    image = density(DRAWING)
    assert image.shape == (len(DRAWING.bands), BINS) and 0 <= image.min() and image.max() <= 1
    labels = [band.label for band in DRAWING.bands]
    drawn = dict(measure(DRAWING, 0, TIMELINE.total).busy)["tensor core"] / TIMELINE.total
    assert image[labels.index("tensor core")].mean() == pytest.approx(drawn, rel=0.05)
    figure = TimelineFigure(lambda op: None)
    Minimap(figure.x).show(DRAWING)


def test_the_figure_measures_finds_and_goes():
    spans = []
    figure = TimelineFigure(lambda op: None, lambda low, high: spans.append((low, high)))
    figure.paint("light")
    figure.show(joined(DRAWING, DRAWING, " (measured)", "measured"), {}, WORDS)
    assert len(figure._sources["lanes"].data["top"]) == len(DRAWING.bands)
    figure.measuring(True)
    assert figure.figure.toolbar.active_drag is figure._body._ruler
    figure.light(frozenset({"load.04"}), frozenset())
    low, high = figure.lit_span()
    figure.stretch((low, high))
    assert figure._body._stretch.visible and figure._body._stretch.left == low
    figure.go(low, high)
    assert figure.window[0] <= low < high <= figure.window[1] + 1


def test_only_a_drag_measures():
    spans = []
    figure = TimelineFigure(lambda op: None, lambda low, high: spans.append((low, high)))
    point = {"type": "point", "x": 3.0, "y": 1.0}
    box = {"type": "rect", "x0": 1.0, "x1": 9.0, "y0": 0.0, "y1": 1.0}
    figure._measured(SelectionGeometry(figure.figure, geometry=point, final=True))
    figure._measured(SelectionGeometry(figure.figure, geometry=box, final=False))
    assert spans == []
    figure._measured(SelectionGeometry(figure.figure, geometry=box, final=True))
    assert spans == [(1.0, 9.0)]


def test_a_measured_trace_has_a_table_too():
    """Of what the figure shows: the prediction, the trace, or both."""
    session = Session(DOCUMENT, None, QUIET, analyst=lambda: Here(QUIET))
    pane = TimelinePane(session, lambda: None, lambda message: None)
    assert pane.table() == {"mode": "predicted", "rows": [], "more": 0}
    text = TOOLS.trace(DOCUMENT, dict(session.trip_counts))
    pane.receive({"do": "load", "name": "trace.json", "text": text})
    assert session.settle()
    table = pane.table()
    assert table["mode"] == "both" and len(table["rows"]) > 20
    ops = {op.id for task in DOCUMENT.tasks for op in ops_of(task)}
    assert {row[1] for row in table["rows"]} <= ops
    assert [row[4] for row in table["rows"]] == sorted(row[4] for row in table["rows"])
    pane.receive({"do": "mode", "mode": "measured"})
    assert pane.table()["mode"] == "measured"
    pane.receive({"do": "mode", "mode": "none"})
    assert pane.table()["rows"] == []
    session.close()


def test_waits_that_come_in_another_order_are_found():
    """A trace of slower copies, which hold up the products: each such wait says so, in both drawings."""
    tools = replace(QUIET, predict=TOOLS.predict)
    session = Session(DOCUMENT, None, tools, analyst=lambda: Here(tools))
    pane = TimelinePane(session, lambda: None, lambda message: None)
    pane.receive({"do": "load", "name": "same", "text": TOOLS.trace(DOCUMENT, dict(session.trip_counts))})
    assert session.settle() and pane.view()["measured"]["differs"] == 0
    slow = simulate(DOCUMENT, session.trip_counts, replace(SM90_COSTS, tma_bytes_per_cycle=20))
    pane.receive({"do": "load", "name": "slow", "text": json.dumps(to_perfetto(slow))})
    assert session.settle()
    measured = pane.view()["measured"]
    assert measured["differs"] > 0
    pane.receive({"do": "find", "text": measured["mark"]})
    assert pane.view()["found"] >= 2 * measured["differs"]
    shown = pane._shown
    said = {op for op, about in zip(shown.waits["op"], shown.waits["about"], strict=True) if MARK in about}
    assert said == {"math.00", "math.04"}  # the waits for a stage to be full, and for the products
    session.close()
