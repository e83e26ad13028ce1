"""An edit changes the lines that it concerns, and no others."""

import difflib

from warpdraft.backends.cutedsl import lower


def changes(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines taken out and put in, stripped."""
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    body = [line for line in diff if not line.startswith(("---", "+++", "@@"))]
    return tuple([line[1:].strip() for line in body if line[0] == sign and line[1:].strip()] for sign in "-+")


def test_three_stages(document):
    out, new = changes(lower(document("persistent_gemm")), lower(document("stages 3")))
    assert len(out) == len(new) == 10
    assert "for stage in cutlass.range_constexpr(3):" in new
    assert "smem_ab = Ring(barriers, barriers + 3)" in new
    assert sum("make_pipeline_state" in line for line in new) == 3
    assert all("3" in line or "smem_c" in line or "allocate" in line for line in new)


def test_split_load(document):
    out, new = changes(lower(document("persistent_gemm")), lower(document("split load")))
    assert "cute.arch.mbarrier_init(smem_ab.full + stage, 2)" in new
    assert 'op.arm("load.04", smem_ab.full + smem_ab_fill.index, 16384, step)  # op load.04' in new
    assert 'op.arm("load_b.03", smem_ab.full + smem_ab_fill.index, 32768, step)  # op load_b.03' in new
    assert not any("math" in line for line in (*out, *new))


def test_load_order(document):
    out, new = changes(lower(document("persistent_gemm")), lower(document("B before A")))
    assert sorted(out) == sorted(new)


def test_release_at_once(document):
    out, new = changes(lower(document("persistent_gemm")), lower(document("release at once")))
    assert 'op.wait_mma("math.07", 0, step)  # op math.07' in new
    assert "if k >= 1:" in out
    assert not any("load" in line for line in (*out, *new))


def test_release_late(document):
    out, new = changes(lower(document("persistent_gemm")), lower(document("release late")))
    assert out == new
    assert len(out) == 2  # the arrival, and the cursor behind it
