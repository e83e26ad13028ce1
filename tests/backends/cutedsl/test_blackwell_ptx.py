"""Modules for Blackwell, compiled without such a GPU: what their PTX holds, counted by hand, and their own checks.

`test_compile` derives the same from the documents, for every target.
"""

import importlib.util
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from warpdraft.backends.cutedsl import compile_module, lower
from warpdraft.backends.cutedsl.cubin import register_requests
from warpdraft.core.edits import MoveNode
from warpdraft.core.tree import find_node, ops_of
from warpdraft.core.verify import verify

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="the CuTe DSL is not installed"),
    pytest.mark.timeout(300),
]
BLACKWELL = ("blackwell_gemm", "blackwell_pair_gemm", "blackwell_scaled_gemm")
PAIRS = "blackwell_pairs_gemm"  # clusters of two pairs
WIDE = "blackwell_wide_scaled_gemm"  # tiles of 256 columns

WRITTEN = {  # by instruction, how often it stands in each of `BLACKWELL`
    r"mbarrier\.init\.": (
        2 * (4 + 1),
        2 * (4 + 2 + 1),
        2 * (4 + 2),
    ),  # full and empty: ring, accumulators, slots
    r"mbarrier\.try_wait\.": (
        4,
        4 + 4 + 4,
        4,
    ),  # ring and accumulators; responses; before exit, if others arrive
    r"mbarrier\.arrive\.expect_tx\.": (1, 2, 1),  # the ring's, the request's
    r"mbarrier\.arrive\.shared\.": (1, 0, 1),  # the accumulator is drained
    r"mbarrier\.arrive\.shared::cluster\.": (0, 1 + 4, 0),  # to the leader; a response is read
    r"mapa\.shared::cluster\.": (0, 6, 0),
    r"tcgen05\.commit\.cta_group::1\.": (2, 0, 2),  # a stage is empty, an accumulator full
    r"tcgen05\.commit\.cta_group::2\.\S*multicast::cluster": (0, 2, 0),
    r"tcgen05\.alloc\.cta_group::1\.": (1, 0, 1),
    r"tcgen05\.alloc\.cta_group::2\.": (0, 1, 0),
    r"tcgen05\.dealloc\.": (1, 1, 1),
    r"tcgen05\.relinquish_alloc_permit\.": (1, 1, 1),
    r"tcgen05\.mma\.cta_group::1\.kind::f16": (4, 0, 0),
    r"tcgen05\.mma\.cta_group::2\.kind::f16": (0, 4, 0),
    r"tcgen05\.mma\.cta_group::1\.kind::mxf8f6f4\.block_scale\.block32": (0, 0, 4),
    r"tcgen05\.cp\.cta_group::1\.32x128b\.warpx4": (0, 0, 2),
    r"tcgen05\.ld\.sync\.aligned\.32x32b\.x64\.": (4, 0, 2),
    r"tcgen05\.ld\.sync\.aligned\.32x32b\.x128\.": (0, 2, 0),
    r"tcgen05\.wait::ld": (4, 2, 2),
    r"tcgen05\.st\.": (8, 8, 4),  # of 32 columns
    r"tcgen05\.wait::st": (1, 1, 1),
    r"tcgen05\.fence::after_thread_sync": (2, 2, 3),
    r"tcgen05\.fence::before_thread_sync": (1, 1, 1),
    r"fence\.proxy\.async\.shared::cta": (4, 2 + 4, 2),  # before stores; behind the reading of a response
    r"fence\.mbarrier_init\.release\.cluster": (1, 1, 1),
    r"barrier\.cluster\.arrive[;. ]": (
        0,
        2 * 4 + 1,
        0,
    ),  # begin and end of four tasks; barriers are initialised
    r"barrier\.cluster\.wait": (0, 2 * 4 + 1, 0),
    r"cp\.async\.bulk\.tensor\.2d\.shared::c\S*mbarrier::complete_tx": (2, 2, 4),
    r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\S*cta_group::2": (0, 2, 0),
    r"clusterlaunchcontrol\.try_cancel\.async\.\S*multicast::cluster::all": (0, 1, 0),
    r"clusterlaunchcontrol\.query_cancel\.is_canceled": (0, 4, 0),  # by each task
    r"griddepcontrol\.wait": (0, 2, 0),
    r"griddepcontrol\.launch_dependents": (0, 1, 0),
    r"setmaxnreg": (0, 0, 0),  # 256 threads may have 255 registers each
}


@pytest.mark.parametrize("name", BLACKWELL)
def test_instructions(document, ptx_of, name):
    ptx = ptx_of(document(name))
    found = {instruction: len(re.findall(instruction, ptx)) for instruction in WRITTEN}
    assert found == {instruction: counts[BLACKWELL.index(name)] for instruction, counts in WRITTEN.items()}


SIGNALS = (
    "mbarrier.try_wait tcgen05.fence::before tcgen05.fence::after tcgen05.mma tcgen05.cp tcgen05.commit tcgen05.ld "
    "tcgen05.wait::ld tcgen05.wait::st tcgen05.st mbarrier.arrive.shared bar.sync barrier.cluster"
).split()


@pytest.mark.parametrize("name", BLACKWELL)
def test_each_wait_and_fence_stands_where_it_counts(document, ptx_of, name):
    """In the text of the MMAs' warp and of the epilogue, which PTX keeps in the order of the module."""
    signals = re.findall(
        "|".join(map(re.escape, sorted(SIGNALS, key=len, reverse=True))), ptx_of(document(name))
    )
    before = {s: [signals[i - 1] for i in range(1, len(signals)) if signals[i] == s] for s in SIGNALS}
    copies = ["tcgen05.cp"] if "scaled" in name else ["mbarrier.try_wait"]
    assert before["tcgen05.mma"][0] in copies and set(before["tcgen05.mma"][1:]) == {"tcgen05.mma"}
    assert before["tcgen05.commit"] == ["tcgen05.mma", "tcgen05.commit"]
    assert set(before["tcgen05.wait::ld"]) == {"tcgen05.ld"} and set(before["tcgen05.wait::st"]) == {
        "tcgen05.st"
    }
    assert before["tcgen05.fence::before"] == ["tcgen05.wait::ld"]
    assert before["mbarrier.arrive.shared"][:1] == ["tcgen05.fence::before"] or "pair" in name
    assert set(before["tcgen05.fence::after"]) <= {"mbarrier.try_wait", "bar.sync"}


def test_the_factors_of_256_rows_go_to_8_columns(document, ptx_of):
    """The second half is 4 columns further, and 512 bytes: 32 in a descriptor, which counts 16 bytes."""
    ptx = ptx_of(document(WIDE))
    assert "kind::mxf8f6f4.block_scale.block32" in ptx and "tcgen05.ld.sync.aligned.32x32b.x64" in ptx
    columns, sources = zip(*re.findall(r"tcgen05\.cp\.\S+ \[(%\w+)\], (%\w+);", ptx), strict=True)
    assert len(columns) == 3 and len(set(columns)) == len(set(sources)) == 3
    offset = {m[1]: int(m[2]) for m in re.finditer(r"add\.s32\s+(%r\d+), %r\d+, (\d+);", ptx)}
    places = sorted(offset[c] for c in columns)
    assert places == [256, 260, 264]  # behind the accumulator: A's, then B's


@pytest.mark.parametrize("name", BLACKWELL)
def test_registers_that_a_warpgroup_gives_back(document, name):
    """The examples ask for none; a schedule that does has them asked for in the PTX and in the machine code."""
    made = document(name)
    tasks = tuple(replace(t, num_registers=168 if t.name == "epilogue" else None) for t in made.tasks)
    asking = replace(made, tasks=tasks)
    assert verify(asking).verdict == "safe"
    compiled = compile_module(lower(asking))
    assert re.findall(r"setmaxnreg\.(\w+)\.sync\.aligned\.u32\s+(\d+)", compiled.ptx) == [("dec", "168")]
    assert register_requests(compiled.cubin) == (168,)
    assert (compiled.resources.registers, compiled.resources.stack_bytes) == (255, 0)


def test_what_is_spilled_is_seen(document):
    """A thread that holds two fragments of 128 registers: that the examples use 0 bytes of stack means something."""
    made = document("blackwell_pair_gemm")
    first, second = (op.id for t in made.tasks for op in ops_of(t) if op.work == "load")
    loop = find_node(made, first).parents[-1]
    place = [node.id for node in loop.body].index(first)
    both = MoveNode(second, loop.id, place).apply(made)
    assert compile_module(lower(both)).resources.stack_bytes > 1000


def without_a_blackwell_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return True
    return not torch.cuda.is_available() or torch.cuda.get_device_capability() != (10, 0)


@pytest.mark.skipif(not without_a_blackwell_gpu(), reason="there is a Blackwell GPU here")
@pytest.mark.parametrize("name", [*BLACKWELL, PAIRS, WIDE])
def test_the_self_check_of_a_blackwell_module_says_that_it_needs_such_a_gpu(document, tmp_path, name):
    """The sizes are those that the documentation gives; a wrong one is refused first, and compiling needs no GPU."""
    module = tmp_path / f"{name}.py"
    module.write_text(lower(document(name)))

    def checked(*sizes: str) -> tuple[int, str]:
        options = [o for size in sizes for o in ("--size", size)]
        done = subprocess.run(
            [sys.executable, str(module), *options], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    status, said = checked("M=4096,N=4096,K=4096", "M=200,N=328,K=80")
    assert status == 2 and "Traceback" not in said
    assert f"{name}.py: error: the check needs a GPU of compute capability 10.0 (sm_100a)" in said
    status, said = checked("M=200,N=328,K=81")
    assert status == 2 and "rows of a must be a multiple of" in said


@pytest.mark.parametrize("build", ["watchdog", "profile", "jitter"])
@pytest.mark.parametrize("name", BLACKWELL)
def test_debug_builds_of_blackwell(document, name, build):
    compiled = compile_module(lower(document(name), build=build))
    assert "tcgen05.mma" in compiled.ptx and compiled.resources.stack_bytes == 0
