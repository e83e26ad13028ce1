"""A measured trace from a file, as a timeline: Chrome or Perfetto JSON whose events are named by op id and lane.

An event counts where its name (or ``args.op``) is the id of an op of the document; its lane is ``args.lane``, else the
name of its thread. The project's own traces (`core.simulate.to_perfetto`) are such files, with one cycle a microsecond;
a file that says otherwise gives ``otherData.cycles_per_us``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warpdraft.core.document import Document
from warpdraft.core.simulate import Bar, Lane, Timeline
from warpdraft.core.tree import ops_of

OWN_UNIT = "1 us = 1 SM cycle"
CLOCK = 1755.0  # cycles a microsecond where nothing says otherwise: an H200's clock under load
KINDS = ("issue", "work", "wait", "in-flight")


class TraceError(Exception):
    """The file holds no trace of this document; the message says why, for the person."""


@dataclass(frozen=True, slots=True)
class Measured:
    """``timeline``: the measured bars in cycles from the first event on; ``notes``: what the reader should know."""

    timeline: Timeline
    notes: tuple[str, ...] = ()


def read_trace(document: Document, text: str, clock: float | None = None) -> Measured:
    """The trace in ``text``; ``clock``: cycles a microsecond, instead of what the file says."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise TraceError(f"this is no JSON: {error}") from None
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise TraceError("this is no trace: a JSON list of events, or an object with traceEvents, is needed")
    about = data.get("otherData") if isinstance(data, dict) else None
    scale, how = _scale(about if isinstance(about, dict) else {}, clock)
    try:
        bars, unknown = _bars(document, [e for e in events if isinstance(e, dict)])
    except (TypeError, ValueError, KeyError) as error:
        raise TraceError(f"an event of this trace makes no sense: {error!r}") from None
    if not bars:
        raise TraceError("no event of this trace is named by an op of this document")
    notes = [how]
    if unknown:
        notes.append(f"{unknown} events name no op of this document")
    return Measured(_timeline(document, bars, scale), tuple(notes))


def _scale(about: Mapping[str, Any], clock: float | None) -> tuple[float, str]:
    said = about.get("cycles_per_us")
    if clock is None and about.get("unit") == OWN_UNIT:
        return 1.0, "in cycles"
    if clock is None and isinstance(said, int | float) and said > 0:
        return float(said), f"1 us = {said:g} cycles, says the file"
    scale = clock or CLOCK
    return scale, f"1 us = {scale:g} cycles" + ("" if clock else ", assumed")


def _bars(document: Document, events: list[dict[str, Any]]) -> tuple[list[tuple], int]:
    """(lane, op, iteration, start, end, kind, resource) of each known event, in the file's time; and how many are not."""
    threads: dict[tuple, str] = {}
    for event in events:
        if event.get("ph") == "M" and event.get("name") == "thread_name":
            threads[event.get("pid"), event.get("tid")] = str(event["args"]["name"])
    ops = {op.id: op.target for task in document.tasks for op in ops_of(task)}
    bars: list[tuple] = []
    unknown = 0
    opened: dict[tuple, list[dict[str, Any]]] = {}
    for event in events:
        phase, place = event.get("ph"), (event.get("pid"), event.get("tid"))
        if phase == "B":
            opened.setdefault(place, []).append(event)
            continue
        if phase == "E" and opened.get(place):
            begun = opened[place].pop()
            event = {**begun, "dur": float(event["ts"]) - float(begun["ts"])}
        elif phase != "X":
            continue
        arguments = event.get("args") if isinstance(event.get("args"), dict) else {}
        if event.get("cat") == "stage":
            continue
        op = next((n for n in (arguments.get("op"), event.get("name")) if n in ops), None)
        if op is None:
            unknown += 1
            continue
        lane = str(arguments.get("lane") or threads.get(place) or f"thread {place[1]}").split(" #")[0]
        kind = event.get("cat") if event.get("cat") in KINDS else "work"
        start = float(event["ts"])
        bars.append(
            (lane, op, _at(arguments.get("at")), start, start + float(event.get("dur", 0)), kind, ops[op])
        )
    return bars, unknown


def _at(text: Any) -> tuple[tuple[str, int], ...]:
    """An iteration in words, "tile 1, k 2", as numbers."""
    at = []
    for part in str(text or "").split(","):
        name, _, number = part.strip().rpartition(" ")
        if name and number.lstrip("-").isdigit():
            at.append((name, int(number)))
    return tuple(at)


def _timeline(document: Document, bars: list[tuple], scale: float) -> Timeline:
    first = min(bar[3] for bar in bars)
    tasks = {task.name: task for task in document.tasks}
    lanes: list[Lane] = []
    index: dict[str, int] = {}
    made: list[Bar] = []
    for name, op, at, start, end, kind, resource in sorted(bars, key=lambda bar: bar[3]):
        if name not in index:
            index[name] = len(lanes)
            task, _, warp = name.rpartition(".w")
            known = task in tasks and warp.isdigit()
            lanes.append(Lane(name, "warp", task, int(warp)) if known else Lane(name, "engine"))
        low = round((start - first) * scale)
        made.append(Bar(index[name], op, at, low, max(low + 1, round((end - first) * scale)), kind, resource))
    order = sorted(
        range(len(lanes)),
        key=lambda i: (lanes[i].kind != "warp", lanes[i].task, lanes[i].warp, lanes[i].name),
    )
    place = {old: new for new, old in enumerate(order)}
    rows = _rows([bar._replace(lane=place[bar.lane]) for bar in made])
    total = max(bar.end for bar in rows)
    return Timeline(tuple(lanes[i] for i in order), tuple(rows), (), (), total, True)


def _rows(bars: list[Bar]) -> list[Bar]:
    """Bars that overlap in one lane get rows of their own."""
    ends: dict[int, list[int]] = {}
    placed = []
    for bar in sorted(bars, key=lambda b: (b.lane, b.start, b.end)):
        rows = ends.setdefault(bar.lane, [])
        row = next((i for i, end in enumerate(rows) if end <= bar.start), len(rows))
        rows[row : row + 1] = [bar.end]
        placed.append(bar._replace(row=row))
    return placed
