"""The timeline's drawing, and what of it is sent."""

import importlib.util
from pathlib import Path

import pytest
from bokeh.document import Document as Page

from warpdraft.app.views.thinning import MOST, Arrays
from warpdraft.app.views.timeline import drawing, facts_view
from warpdraft.app.views.timeline_figure import TimelineFigure
from warpdraft.app.views.timeline_lanes import pinned
from warpdraft.app.views.words import op_text
from warpdraft.assets.examples import blackwell_pair_gemm, blackwell_scaled_gemm
from warpdraft.core.simulate import simulate
from warpdraft.core.tree import ops_of

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)
TIMELINE = simulate(sample.gemm(), {"k_tiles": 6, "tiles": 2})
WORDS = {op.id: op_text(op) for task in sample.gemm().tasks for op in ops_of(task)}


def test_warps_that_do_the_same_share_a_lane():
    merged, apart = drawing(TIMELINE), drawing(TIMELINE, merge=False)
    lanes = [band.label for band in apart.bands if band.kind == "warp"]
    assert len(lanes) == sum(lane.kind == "warp" for lane in TIMELINE.lanes)
    assert len([b for b in merged.bands if b.kind == "warp"]) < len(lanes)
    assert any("-" in band.label for band in merged.bands)


def test_every_bar_lies_in_its_lane():
    picture = drawing(TIMELINE)
    where = {band.label: band for band in picture.bands}
    for columns in (picture.bars, picture.waits):
        for lane, top, bottom in zip(columns["lane"], columns["top"], columns["bottom"], strict=True):
            assert where[lane].top <= top < bottom <= where[lane].bottom + 1e-9
    assert all(a <= b for a, b in zip(picture.bars["left"], picture.bars["right"], strict=True))
    assert {band.label for band in picture.bands if band.kind == "stage"} == {"smem_ab"}


def test_a_pair_of_ctas_is_two_groups_of_lanes_and_tensor_memory_a_band_of_columns():
    timeline = simulate(blackwell_pair_gemm.build().document, {"k_tiles": 4, "tiles": 2})
    picture = drawing(timeline)
    lanes = [band for band in picture.bands if band.kind in ("warp", "engine")]
    other = ["@1" in band.label for band in lanes]
    assert other == sorted(other) and any(other) and "tile requests" in [band.label for band in lanes]
    first, last = lanes[other.index(True)], lanes[other.index(True) - 1]
    assert first.top - last.bottom > 2 * (lanes[1].top - lanes[0].bottom)
    memory = [band for band in picture.bands if band.kind == "columns"]
    assert [band.label for band in memory] == ["TMEM", "TMEM@1"]
    shown = zip(*(picture.stages[name] for name in ("top", "bottom", "state", "about")), strict=True)
    inside = [s for s in shown if memory[0].top <= s[0] and s[1] <= memory[0].bottom + 1e-9]
    assert inside[0][2:] == ("allocated", "columns 0-511")
    halves = {s[3]: (s[0], s[1]) for s in inside if s[2] == "filling"}
    middle = (memory[0].top + memory[0].bottom) / 2
    assert halves["acc[0] columns 0-255"][1] == halves["acc[1] columns 256-511"][0] == pytest.approx(middle)
    of_the_other = [
        (s[0] - memory[1].top, s[1] - memory[1].top, *s[2:])
        for s in zip(*(picture.stages[name] for name in ("top", "bottom", "state", "about")), strict=True)
        if memory[1].top <= s[0] and s[1] <= memory[1].bottom + 1e-9
    ]
    assert len(of_the_other) == len(inside)  # a pair's MMAs fill both
    for (top, bottom, *what), own in zip(of_the_other, inside, strict=True):
        assert (top, bottom) == pytest.approx((own[0] - memory[0].top, own[1] - memory[0].top))
        assert what == list(own[2:])


def test_a_few_columns_are_high_enough_to_be_seen_and_an_alias_lies_over_what_it_stands_for():
    picture = drawing(simulate(blackwell_scaled_gemm.build().document, {"k_tiles": 2, "tiles": 1}))
    heights = {
        about: bottom - top
        for about, top, bottom in zip(*(picture.stages[n] for n in ("about", "top", "bottom")), strict=True)
    }
    factors, all_columns = heights["sfa[0] columns 256-259"], heights["columns 0-511"]
    assert all_columns / 20 < factors < heights["acc[0] columns 0-127"]
    empty = drawing(simulate(blackwell_scaled_gemm.build().document, {"k_tiles": 0, "tiles": 1}))
    places = {
        about: (top, bottom, left, right)
        for about, top, bottom, left, right in zip(
            *(empty.stages[n] for n in ("about", "top", "bottom", "left", "right")), strict=True
        )
    }
    over, under = places["cleared[0] columns 0-127"], places["acc[0] columns 0-127"]
    assert over[:2] == under[:2] and under[2] <= over[2] < over[3] <= under[3]


def test_columns_and_requests_for_tiles_have_names_in_the_figure():
    document = blackwell_pair_gemm.build().document
    figure = TimelineFigure(lambda op: None)
    figure.paint("light")
    figure.show(drawing(simulate(document, {"k_tiles": 4, "tiles": 3})), {}, {})
    names = figure._sources["names"].data
    assert {"acc[0]", "acc[1]", "tile 1", "tile 2", "none left"} == set(names["name"])
    ink = dict(zip(names["name"], names["ink"], strict=True))
    assert len(set(names["ink"])) == 2 and ink["tile 1"] != ink["acc[1]"]  # on light and on dark colours


def test_facts():
    facts = facts_view(TIMELINE)
    assert "k_tiles = 6" in facts["summary"] and len(facts["rows"]) <= 300
    assert facts_view(None, "why not")["problem"] == "why not"


def many(number):
    return {
        "left": [float(i) for i in range(number)],
        "right": [i + 0.9 for i in range(number)],
        "top": [float(i % 7) for i in range(number)],
        "op": [str(i) for i in range(number)],
    }


def test_few_bars_are_sent_as_they_are_and_many_only_where_visible():
    assert Arrays(many(100)).within((0, 10)) == many(100)
    bars = Arrays(many(50_000))
    window = bars.within((1000, 1200))
    assert 200 <= len(window["left"]) < 500 and min(window["left"]) < 1000 < 1200 < max(window["left"])
    for low, high in ((0, 50_000), (0, 20_000), (10_000, 17_000)):
        shown = bars.within((low, high))
        assert 500 < len(shown["left"]) <= MOST
        assert min(shown["left"]) <= low + 100 and max(shown["right"]) >= high - 100
        assert set(shown) == set(many(1))


def test_the_figure_follows_drawing_selection_keys_and_theme():
    picked = []
    figure = TimelineFigure(picked.append)
    figure.paint("dark")
    figure.show(drawing(TIMELINE), {"load": 0, "math": 1}, WORDS)
    assert figure._sources["bars"].data["op"]
    figure.light(frozenset({TIMELINE.bars[0].op}), frozenset())
    assert figure._sources["lit"].data["left"]
    start = figure.x.end - figure.x.start
    figure.move("w")
    assert figure.x.end - figure.x.start < start
    figure.move("f")
    for _ in range(9):
        figure.move("s")
    assert figure.x.start >= figure.x.bounds[0] and figure.x.end <= figure.x.bounds[1] + 1e-6
    figure.paint("light")
    figure._sources["bars"].selected.indices = [0]
    assert (
        picked == [figure._sources["bars"].data["op"][0]] and figure._sources["bars"].selected.indices == []
    )


def test_what_stays_the_same_is_not_sent_again_and_no_model_is_new():
    figure, page, changes = TimelineFigure(lambda op: None), Page(), []
    figure.paint("light")
    figure.show(drawing(TIMELINE), {"load": 0, "math": 1}, WORDS)
    for part in (figure.figure, figure.head, figure.minimap.figure):
        page.add_root(part)
    models = {model.id for model in page.models}
    page.on_change(changes.append)
    figure.show(drawing(TIMELINE), {"load": 0, "math": 1}, WORDS)
    assert not changes
    longer = drawing(simulate(sample.gemm(), {"k_tiles": 7, "tiles": 2}))
    figure.show(pinned(longer, (longer.bands[0].label,)), {"load": 0, "math": 1}, WORDS, 1)
    assert changes and {model.id for model in page.models} == models


def test_bars_that_are_wide_enough_carry_their_work():
    figure = TimelineFigure(lambda op: None)
    figure.paint("light")
    figure.show(drawing(TIMELINE), {"load": 0, "math": 1}, WORDS)
    whole = figure._sources["names"].data["name"]
    assert "mma" in whole and set(whole) <= {
        text.partition("(")[0].rpartition(".")[2] for text in WORDS.values()
    }
    figure.go(0, TIMELINE.total / 8)
    near = figure._sources["names"].data
    assert set(near["name"]) - set(whole) and max(near["x"]) < TIMELINE.total


def test_pinned_lanes_lie_in_the_head_and_the_others_in_the_body():
    figure = TimelineFigure(lambda op: None)
    figure.paint("light")
    shown = pinned(drawing(TIMELINE), {"TMA"})
    plain = figure.head.height
    figure.show(shown, {"load": 0, "math": 1}, WORDS, 1)
    assert list(figure.head.yaxis.major_label_overrides.values()) == ["TMA"]
    assert "TMA" not in figure.figure.yaxis.major_label_overrides.values()
    assert figure.head.y_range.start == figure.figure.y_range.end and figure.head.height != plain
    assert figure.head.min_border_left == figure.figure.min_border_left
