"""What the session calls to check, predict, generate, read and write: plain functions in one record, so that tests can
put their own in."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from warpdraft.backends.cutedsl import ExportRefused, export_module, lower
from warpdraft.core import store
from warpdraft.core.advice import Advice
from warpdraft.core.advice import advise as core_advise
from warpdraft.core.document import Document
from warpdraft.core.edits import EditError
from warpdraft.core.findings import Finding, Fix, Report
from warpdraft.core.fixes import fixes_for
from warpdraft.core.limits import too_large
from warpdraft.core.simulate import Timeline, differences, simulate, to_perfetto
from warpdraft.core.to_python import to_python
from warpdraft.core.verify import verify

from .measured import read_trace
from .views.opinions import opinion_lines
from .views.timeline import Drawing, drawing, facts_view
from .views.timeline_order import order_notes
from .why import why

ADVICE = 60.0  # seconds
OPINION = 90.0  # seconds: its search takes 15 to 20 where it gives up


def predict(document: Document, counts: Mapping[str, int]) -> tuple[Drawing, dict[str, Any]]:
    """The timeline as the page shows it: its drawing, and its facts. Raises EditError for sizes that no machine has."""
    timeline = _simulated(document, counts)
    return drawing(timeline), facts_view(timeline)


def _simulated(document: Document, counts: Mapping[str, int]) -> Timeline:
    if reason := too_large(document):
        raise EditError(reason)
    return simulate(document, counts)


def advise(document: Document, report: Report) -> Advice:
    """Advice on a document that was checked, within `ADVICE` seconds."""
    return core_advise(document, ADVICE, report)


def opinion(document: Document, report: Report) -> list[str]:
    """What Task Scheduling's own check says, in lines, within `OPINION` seconds; raises ValueError where it can't."""
    from warpdraft.backends.nvidia_ts.asking import ask_task_scheduling

    with contextlib.redirect_stderr(io.StringIO()):  # what the script prints
        said, why_not_ours = ask_task_scheduling(document, report, OPINION)
    return opinion_lines(asdict(said) | {"difference": why_not_ours})


def trace(document: Document, counts: Mapping[str, int]) -> str:
    """The predicted timeline as the text of a Perfetto trace."""
    return json.dumps(to_perfetto(_simulated(document, counts)), separators=(",", ":"))


def measured(document: Document, text: str, clock: float | None, counts: Mapping[str, int]) -> dict[str, Any]:
    """A measured trace's ``drawing``, ``notes`` for the reader, its bars as a ``table``, and what its ``order`` has that
    the prediction has not."""
    read = read_trace(document, text, clock)
    facts = facts_view(read.timeline)
    return {
        "drawing": drawing(read.timeline),
        "note": ", ".join(read.notes),
        "table": {name: facts[name] for name in ("rows", "more")},
        "order": order_notes(differences(_simulated(document, counts), read.timeline)),
    }


def compare(*arguments: Any) -> dict[str, Any]:
    """Two documents side by side; imported when asked for, since the analysis process starts faster without NumPy."""
    from .compare import compare

    return compare(*arguments)


def export(document: Document, unsafe: bool) -> dict[str, str]:
    """The kernel module's ``text``, or the ``refusal`` that names the broken rules."""
    try:
        return {"text": export_module(document, unsafe=unsafe)}
    except ExportRefused as refusal:
        rules = ", ".join(dict.fromkeys(f"{error.code} {error.name}" for error in refusal.findings))
        return {"refusal": rules or str(refusal)}


@dataclass(frozen=True, slots=True)
class Tools:
    """Each may raise; what `load` and `save` raise is `store.DocumentError`. `verify` may tell a part of its report
    first."""

    verify: Callable[..., Report] = verify
    predict: Callable[[Document, Mapping[str, int]], Any] = predict
    lower: Callable[[Document], str] = lower
    to_python: Callable[[Document], str] = to_python
    fixes: Callable[[Document, Finding], tuple[Fix, ...]] = fixes_for
    why: Callable[[Document, str], dict[str, Any]] = why
    advise: Callable[[Document, Report], Advice] = advise
    opinion: Callable[[Document, Report], list[str]] = opinion
    trace: Callable[[Document, Mapping[str, int]], str] = trace
    measured: Callable[[Document, str, float | None, Mapping[str, int]], dict[str, Any]] = measured
    compare: Callable[..., dict[str, Any]] = compare
    export: Callable[[Document, bool], dict[str, str]] = export
    load: Callable[[Path], Document] = store.load
    save: Callable[[Document, Path], None] = store.save


TOOLS = Tools()
