"""A timeline as Chrome trace events, which Perfetto (ui.perfetto.dev) opens.

Format: "Trace Event Format" (Chromium): "X" complete events with ``ts`` and ``dur``, "s"/"f" flow arrows, "M" names. One
cycle is written as one microsecond; one process for warps, one for engines, one for the stages of pipelines.
"""

from __future__ import annotations

from typing import Any

from .timeline import At, Timeline

WARPS, ENGINES, STAGES = 1, 2, 3
ROWS = 1000  # thread numbers between lanes: overlapping bars of one lane are tracks of their own


def to_perfetto(timeline: Timeline) -> dict[str, Any]:
    """The trace as a JSON-ready dictionary."""
    tracks: dict[tuple[int, int], str] = {}
    events: list[dict[str, Any]] = []
    for bar in timeline.bars:
        process, thread = _track(timeline, bar.lane, bar.row)
        lane = timeline.lanes[bar.lane].name
        tracks[process, thread] = f"{lane} #{bar.row}" if bar.row else lane
        arguments = {"at": at_text(bar.at), "resource": bar.resource, "stage": bar.stage, "open": bar.open}
        events.append(_complete(process, thread, bar.op, bar.kind, bar.start, bar.end, arguments))
    stages = sorted({(s.resource, s.stage) for s in timeline.stages})
    for s in timeline.stages:
        thread = stages.index((s.resource, s.stage))
        tracks[STAGES, thread] = f"{s.resource}[{s.stage}]"
        if s.state != "empty":
            events.append(_complete(STAGES, thread, s.state, "stage", s.start, s.end, {}))
    for number, arrow in enumerate(timeline.arrows):
        common = {"name": "frees", "cat": "arrow", "id": number}
        for phase, lane, time in (("s", arrow.lane, arrow.time), ("f", arrow.to_lane, arrow.to_time)):
            process, thread = _track(timeline, lane, 0)
            events.append(
                {"ph": phase, "bp": "e", "pid": process, "tid": thread, "ts": max(0, time - 1), **common}
            )
    return {"traceEvents": _names(tracks) + events, "otherData": _about(timeline)}


def at_text(at: At) -> str:
    """ "tile 1, k 2"."""
    return ", ".join(f"{name} {i}" for name, i in at)


def _track(timeline: Timeline, lane: int, row: int) -> tuple[int, int]:
    return (WARPS if timeline.lanes[lane].kind == "warp" else ENGINES), lane * ROWS + row


def _complete(
    process: int, thread: int, name: str, category: str, start: int, end: int, arguments: dict[str, Any]
) -> dict[str, Any]:
    times = {"ts": start, "dur": end - start}
    return {
        "ph": "X",
        "pid": process,
        "tid": thread,
        "name": name,
        "cat": category,
        **times,
        "args": arguments,
    }


def _names(tracks: dict[tuple[int, int], str]) -> list[dict[str, Any]]:
    named = [("process_name", WARPS, 0, "warps"), ("process_name", ENGINES, 0, "engines")]
    named.append(("process_name", STAGES, 0, "stages"))
    named += [("thread_name", process, thread, name) for (process, thread), name in sorted(tracks.items())]
    return [
        {"ph": "M", "name": kind, "pid": p, "tid": t, "args": {"name": name}} for kind, p, t, name in named
    ]


def _about(timeline: Timeline) -> dict[str, Any]:
    return {
        "unit": "1 us = 1 SM cycle",
        "total_cycles": timeline.total,
        "ended": timeline.ended,
        "values": dict(timeline.values),
        "bottleneck": timeline.bottleneck,
        "notes": list(timeline.notes),
    }
