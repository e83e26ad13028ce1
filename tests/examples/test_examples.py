"""The examples: their documents are in step with their sources, and the verifier says what each one is there to show."""

import pytest

from warpdraft.assets.regenerate import capture, names, path_of
from warpdraft.core import equal_schedules, load, to_python, verify
from warpdraft.core.findings import Severity
from warpdraft.core.store import dumps

SHOWS = {
    "attention": None,
    "blackwell_gemm": None,
    "blackwell_pair_gemm": None,
    "blackwell_scaled_gemm": None,
    "broken_arrival_count": "WD201",
    "broken_deadlock": "WD301",
    "broken_early_release": "WD403",
    "fp8_gemm": None,
    "gemm": None,
    "hopper_gemm": None,
    "own_epilogue_gemm": None,
    "persistent_gemm": None,
    "ping_pong": None,
    "ping_pong_gemm": None,
    "residual_gemm": None,
    "split_k_gemm": None,
    "tma_copy": None,
}


def test_every_example_is_listed_here():
    assert names() == sorted(SHOWS)


@pytest.mark.parametrize("name", SHOWS)
def test_document_is_in_step(name):
    assert path_of(name).read_text(encoding="utf-8") == dumps(capture(name)), (
        "run python -m warpdraft.assets.regenerate"
    )


@pytest.mark.parametrize("name", SHOWS)
def test_verdict(name):
    report = verify(load(path_of(name)))
    assert report.verdict == ("unsafe" if SHOWS[name] else "safe")
    if SHOWS[name]:
        assert report.findings[0].code == SHOWS[name]
    else:
        assert report.scope.kind == "all", report.scope.reason
        assert all(f.severity is Severity.ADVICE for f in report.findings)


@pytest.mark.parametrize("name", SHOWS)
def test_written_back_and_captured_again(name):
    document = load(path_of(name))
    scope = {"__name__": "written"}
    exec(compile(to_python(document), "written.py", "exec"), scope)
    assert equal_schedules(scope["build"]().document, document)


def test_the_persistent_gemm_is_the_one_that_was_measured():
    document = load(path_of("persistent_gemm"))
    by_name = {r.name: r for r in document.resources}
    ring = by_name["smem_ab"]
    assert (ring.pipeline.stages, ring.storage.bytes) == (4, 49152)
    assert [(p.name, p.offset, p.bytes) for p in ring.storage.parts] == [("a", 0, 16384), ("b", 16384, 32768)]
    assert (by_name["smem_c"].storage.bytes, by_name["smem_c"].storage.stages) == (16384, 2)
    assert [(t.warp_idx, t.num_warps, t.num_registers) for t in document.tasks] == [(0, 1, 40), (4, 8, 232)]
    assert [(b.id, b.threads) for b in document.barriers] == [(1, 256)]
