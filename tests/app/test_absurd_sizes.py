"""Sizes that no machine has, as a file may hold them: refused, or answered in time. Nothing counts up to them."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.tools import predict
from warpdraft.app.values import known_names
from warpdraft.app.views.details import details_view
from warpdraft.app.views.graph import graph_view
from warpdraft.app.views.offers import offers
from warpdraft.app.views.resources import resources_view
from warpdraft.app.views.schedule import schedule_view
from warpdraft.backends.cutedsl import LoweringError, lower
from warpdraft.core import edits, store
from warpdraft.core.edits import EditError
from warpdraft.core.simulate import default_values
from warpdraft.core.store import DocumentError
from warpdraft.core.verify import verify

GEMM = store.load(Path(__file__).parents[2] / "assets" / "examples" / "persistent_gemm.warpdraft.json")
IN_TIME = 30.0  # seconds of the processor; a prediction is cut at some, everything else takes well under one
MATH = next(task for task in GEMM.tasks if task.num_warps > 1)


def resource(**changes):
    first = next(r for r in GEMM.resources if r.pipeline)
    changed = replace(first, pipeline=replace(first.pipeline, **changes))
    return replace(GEMM, resources=tuple(changed if r is first else r for r in GEMM.resources))


def task(**changes):
    return replace(GEMM, tasks=tuple(replace(t, **changes) if t is MATH else t for t in GEMM.tasks))


@pytest.mark.parametrize("number", [10**9, 10**18])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: task(num_warps=n),
        lambda n: task(warp_idx=n),
        lambda n: task(num_registers=n),
        lambda n: resource(stages=n),
        lambda n: resource(bytes=n),
        lambda n: resource(producer_count=n),
        lambda n: replace(GEMM, cluster=(n, n, n)),
        lambda n: replace(GEMM, ctas_per_sm=n),
        lambda n: edits.SetStorage("smem_c", "bytes", n).apply(GEMM),
        lambda n: edits.SetStorage("smem_c", "alignment", n).apply(GEMM),
        lambda n: edits.SetSymbol(GEMM.symbols[0].name, n).apply(GEMM),
    ],
    ids="warps first registers stages bytes count cluster shared stored aligned least".split(),
)
def test_everything_answers_in_time(make, number):
    document = make(number)
    start = time.process_time()
    assert verify(document, budget=2).verdict in ("unsafe", "incomplete", "safe")
    for ask in (lambda: predict(document, default_values(document)), lambda: lower(document)):
        try:
            ask()
        except (EditError, LoweringError) as refusal:
            assert str(refusal)
    for view in (graph_view, schedule_view, resources_view):
        view(document)
    for kind in ("resource", "work", "task", "symbol", "document", "kernel"):
        for name in known_names(document, kind):
            details_view(document, None, kind, (name,))
    assert all(offers(document, task) for task in document.tasks)
    assert time.process_time() - start < IN_TIME


def test_warps_that_no_machine_has_are_said():
    report = verify(task(num_warps=10**9))
    assert "WD605" in [f.code for f in report.findings] and report.verdict == "unsafe"


def test_a_stride_that_no_machine_has_is_refused_with_its_place():
    text = store.dumps(GEMM).replace('"stages": 4', '"stages": 4, "interleave": [1000000000, 1, 1, 1]', 1)
    with pytest.raises(DocumentError, match=r"interleave\[0\].*1 to 1024"):
        store.loads(text)
