"""The predicted timeline as columns of numbers: what the figure draws, and the same as rows of a table.

Warps of one task that do the same at the same time share a lane ("math.w1-7"). Lanes are stacked from the top; y grows
downwards; each lane is as high as its bars that overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from warpdraft.core.program import in_cta
from warpdraft.core.simulate import Bar, Lane, Timeline
from warpdraft.core.simulate.engines import REQUESTS

from .timeline_memory import tensor_memory

ROW = 1.0  # height of a warp's lane
ENGINE_ROW = 0.62  # height of one of an engine's rows
STAGE_ROW = 0.55
GAP = 0.22
TABLE_ROWS = 300

Columns = dict[str, list]
BARS = (
    "left",
    "right",
    "top",
    "bottom",
    "op",
    "at",
    "kind",
    "about",
    "lane",
    "task",
    "name",
)  # name: what it says


@dataclass(frozen=True, slots=True)
class Band:
    """A lane's place: ``rows`` of height ``row`` from ``top`` down."""

    label: str
    top: float
    rows: int
    row: float
    kind: str  # "warp", "engine", "stage" or "columns"
    task: str = ""

    @property
    def bottom(self) -> float:
        """Where it ends."""
        return self.top + self.rows * self.row


@dataclass(frozen=True, slots=True)
class Drawing:
    """Everything that the figure shows. ``bars``, ``waits``, ``stages``: columns for quads; ``arrows``: for segments."""

    bands: tuple[Band, ...]
    bars: Columns
    waits: Columns
    stages: Columns
    arrows: Columns
    total: int
    height: float
    by_op: Mapping[str, tuple[int, int]] = field(
        default_factory=dict
    )  # first and last cycle of each op's bars


def drawing(timeline: Timeline, merge: bool = True) -> Drawing:
    """The timeline's drawing; ``merge`` puts warps that do the same into one lane."""
    groups = _groups(timeline, merge)
    bands, band_of = _bands(timeline, groups)
    bars, waits = _quads(timeline, bands, band_of)
    stages, stage_bands = _stages(timeline, bands[-1].bottom + 2 * GAP if bands else 0.0)
    bands += stage_bands
    for cta in sorted({span.cta for span in timeline.columns}):
        spans = [span for span in timeline.columns if span.cta == cta]
        top = bands[-1].bottom + GAP if bands else 0.0
        bands.append(Band(in_cta("TMEM", cta), top, 1, tensor_memory(spans, top, stages), "columns"))
    by_op: dict[str, tuple[int, int]] = {}
    for bar in timeline.bars:
        low, high = by_op.get(bar.op, (bar.start, bar.end))
        by_op[bar.op] = (min(low, bar.start), max(high, bar.end))
    height = bands[-1].bottom + GAP if bands else 1.0
    arrows = _arrows(timeline, bands, band_of)
    return Drawing(tuple(bands), bars, waits, stages, arrows, timeline.total, height, by_op)


def _groups(timeline: Timeline, merge: bool) -> list[list[int]]:
    """Lanes that are drawn as one."""
    of_lane: dict[int, list[tuple]] = {i: [] for i in range(len(timeline.lanes))}
    for bar in timeline.bars:
        of_lane[bar.lane].append((bar.op, bar.start, bar.end, bar.kind))
    groups: dict[Any, list[int]] = {}
    for i, lane in enumerate(timeline.lanes):
        same = merge and lane.kind == "warp"
        groups.setdefault((_cta(lane), lane.task, tuple(of_lane[i])) if same else i, []).append(i)
    return sorted(groups.values(), key=lambda group: _cta(timeline.lanes[group[0]]))  # one CTA after another


def _cta(lane: Lane) -> int:
    """The CTA of the cluster that a lane is of: 1 for "load@1.w0" and "TMA@1"."""
    number = lane.name.partition("@")[2].partition(".")[0]
    return int(number) if number else 0


def _bands(timeline: Timeline, groups: list[list[int]]) -> tuple[list[Band], dict[int, int]]:
    rows = [1] * len(timeline.lanes)
    for bar in timeline.bars:
        rows[bar.lane] = max(rows[bar.lane], bar.row + 1)
    bands: list[Band] = []
    band_of: dict[int, int] = {}
    top = GAP
    cta = 0
    for group in groups:
        lane = timeline.lanes[group[0]]
        if _cta(lane) != cta:  # the lanes of the next CTA stand apart
            cta, top = _cta(lane), top + 3 * GAP
        number = max(rows[i] for i in group)
        label = _label(timeline, group)
        bands.append(
            Band(label, top, number, ROW if lane.kind == "warp" else ENGINE_ROW, lane.kind, lane.task)
        )
        band_of.update((i, len(bands) - 1) for i in group)
        top = bands[-1].bottom + GAP
    return bands, band_of


def _label(timeline: Timeline, group: list[int]) -> str:
    lanes = [timeline.lanes[i] for i in group]
    if len(lanes) == 1:
        return lanes[0].name
    task = lanes[0].name.rpartition(".w")[0]  # with the CTA: "load@1"
    warps = sorted(lane.warp for lane in lanes)
    if warps == list(range(warps[0], warps[-1] + 1)):
        return f"{task}.w{warps[0]}-{warps[-1]}"
    return f"{task}.w" + ",".join(map(str, warps))


def _quads(timeline: Timeline, bands: list[Band], band_of: dict[int, int]) -> tuple[Columns, Columns]:
    bars: Columns = {name: [] for name in BARS}
    waits: Columns = {name: [] for name in BARS}
    last = max((_tile(bar) for bar in timeline.bars), default=0)
    owner = {bar.op: timeline.lanes[bar.lane].task for bar in timeline.bars if timeline.lanes[bar.lane].task}
    for bar in _once(timeline.bars, timeline, band_of):
        band = bands[band_of[bar.lane]]
        top = band.top + bar.row * band.row
        thin = bar.kind == "issue"
        pad = band.row * (0.22 if thin else 0.06)
        values = (
            bar.start,
            max(bar.end, bar.start + 1),
            top + pad,
            top + band.row - pad,
            bar.op,
            at_text(bar.at),
        )
        values += (
            "stuck" if bar.open else bar.kind,
            about(bar),
            band.label,
            band.task or owner.get(bar.op, ""),
            _requested(bar, last) if band.label.startswith(REQUESTS) else "",
        )
        for name, value in zip(BARS, values, strict=True):
            (waits if bar.kind == "wait" else bars)[name].append(value)
    return bars, waits


def _requested(bar: Bar, last: int) -> str:
    """What a request for a tile is answered with: the tile behind that of its iteration, behind the ``last`` none."""
    number = _tile(bar)
    return "none left" if number == last else f"tile {number + 1}"


def _tile(bar: Bar) -> int:
    return next((i for name, i in bar.at if name == "tile"), 0)


def _once(bars: Sequence[Bar], timeline: Timeline, band_of: dict[int, int]) -> Iterable[Bar]:
    """The bars of the first lane of each band."""
    first: dict[int, int] = {}
    for lane, band in band_of.items():
        first.setdefault(band, lane)
    return (bar for bar in bars if first[band_of[bar.lane]] == bar.lane)


def _stages(timeline: Timeline, top: float) -> tuple[Columns, list[Band]]:
    names = ("left", "right", "top", "bottom", "state", "about")
    columns: Columns = {name: [] for name in names}
    counts: dict[str, int] = {}
    for use in timeline.stages:
        counts[use.resource] = max(counts.get(use.resource, 0), use.stage + 1)
    bands: list[Band] = []
    tops: dict[str, float] = {}
    for name, number in counts.items():
        bands.append(Band(name, top, number, STAGE_ROW, "stage"))
        tops[name] = top
        top = bands[-1].bottom + GAP
    for use in timeline.stages:
        if use.state == "empty":
            continue
        y = tops[use.resource] + use.stage * STAGE_ROW
        values = (
            use.start,
            use.end,
            y + 0.04,
            y + STAGE_ROW - 0.04,
            use.state,
            f"{use.resource}[{use.stage}]",
        )
        for key, value in zip(names, values, strict=True):
            columns[key].append(value)
    return columns, bands


def _arrows(timeline: Timeline, bands: list[Band], band_of: dict[int, int]) -> Columns:
    columns: Columns = {name: [] for name in ("x0", "y0", "x1", "y1", "op", "to_op", "angle")}
    seen = set()
    for arrow in timeline.arrows:
        source, target = bands[band_of[arrow.lane]], bands[band_of[arrow.to_lane]]
        y0 = (source.top + source.bottom) / 2
        y1 = target.top if source.top < target.top else target.bottom
        key = (arrow.time, arrow.to_time, y0, y1)
        if source is target or key in seen:
            continue
        seen.add(key)
        down = y1 > y0
        values = (arrow.time, y0, arrow.to_time, y1, arrow.op, arrow.to_op, 3.14159 if down else 0.0)
        for name, value in zip(columns, values, strict=True):
            columns[name].append(value)
    return columns


def at_text(at: tuple[tuple[str, int], ...]) -> str:
    """An iteration: "tile 1, k 2"."""
    return ", ".join(f"{name} {value}" for name, value in at)


def about(bar: Bar) -> str:
    """What a bar is about: "smem_ab[2]"."""
    return f"{bar.resource}[{bar.stage}]" if bar.resource and bar.stage >= 0 else bar.resource


def facts_view(timeline: Timeline | None, problem: str = "") -> dict[str, Any]:
    """One line about the timeline, and its bars as rows."""
    if timeline is None:
        return {"summary": "", "problem": problem, "rows": [], "more": 0, "pending": not problem}
    rows = [
        [timeline.lanes[b.lane].name, b.op, at_text(b.at), b.kind, b.start, b.end]
        for b in sorted(timeline.bars[: 20 * TABLE_ROWS], key=lambda b: (b.start, b.lane))[:TABLE_ROWS]
    ]
    values = ", ".join(f"{name} = {value}" for name, value in timeline.values)
    parts = [timeline.bottleneck, *timeline.notes]
    if timeline.blocked:
        first = timeline.blocked[0]
        lane = timeline.lanes[first.lane].name
        parts.insert(0, f"stuck: {lane} waits at {first.barrier} since {first.since}, {first.owed}")
    summary = f"predicted{' for ' + values if values else ''}: " + " · ".join(parts)
    return {
        "summary": summary,
        "problem": "",
        "rows": rows,
        "more": max(0, len(timeline.bars) - len(rows)),
        "pending": False,
    }
