"""Every document compiles without a GPU, and the PTX holds what the document says."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from math import prod

import pytest

from warpdraft.backends.cutedsl import CompileError, LoweringError, compile_module, lower
from warpdraft.core.arrivals import (
    armed_bytes,
    consumer_signal,
    empty_count,
    full_count,
    producer_signal,
    routes,
)
from warpdraft.core.document import Document, Op, OpKind, Work
from warpdraft.core.machine import Machine
from warpdraft.core.schedulers import is_dynamic
from warpdraft.core.tree import find_resource, find_target, find_work, walk

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="the CuTe DSL is not installed"),
    pytest.mark.timeout(300),
]


def ops(document: Document, *kinds: OpKind) -> list[Op]:
    return [n for t in document.tasks for n in walk(t.body) if isinstance(n, Op) and n.kind in kinds]


def constants(ptx: str, pattern: str) -> list[int]:
    """The values of the register or number that ``pattern`` captures."""
    moved = {m[1]: int(m[2]) for m in re.finditer(r"mov\.b32\s+(%r\d+), (\d+);", ptx)}
    return [moved.get(v, int(v) if v.isdigit() else -1) for v in re.findall(pattern, ptx)]


def test_barrier_initialisation(any_document, ptx_of):
    expected: Counter[int] = Counter()
    for resource in any_document.resources:
        if resource.pipeline:
            for count in (full_count(any_document, resource), empty_count(any_document, resource)):
                expected[count] += resource.pipeline.stages
    assert Counter(constants(ptx_of(any_document), r"mbarrier\.init\S*\s+\[[^]]+\], (%?\w+);")) == expected


def test_waits_arrivals_and_bytes(any_document, ptx_of):
    ptx = ptx_of(any_document)
    waits = ops(any_document, OpKind.ACQUIRE, OpKind.WAIT)
    drained = drains_of(any_document)
    assert ptx.count("mbarrier.try_wait.parity") == len(waits) + len(drained)
    tma = [
        (task, op)
        for task in any_document.tasks
        for op in walk(task.body)
        if isinstance(op, Op)
        and op.kind is OpKind.ACQUIRE
        and producer_signal(any_document, find_resource(any_document, op.target)) == "tma"
    ]
    expected = [
        armed_bytes(any_document, find_resource(any_document, op.target), task, op) for task, op in tma
    ]
    assert sorted(constants(ptx, r"arrive\.expect_tx\S*\s+(?:%rd\d+|_), \[[^]]+\], (%?\w+);")) == sorted(
        expected
    )
    signalled = [
        (op, find_resource(any_document, op.target), signal_of)
        for kind, signal_of in ((OpKind.COMMIT, producer_signal), (OpKind.RELEASE, consumer_signal))
        for op in ops(any_document, kind)
    ]
    signals = Counter(signal_of(any_document, resource) for _, resource, signal_of in signalled)
    assert len(re.findall(r"tcgen05\.commit\.", ptx)) == signals.pop("commit", 0)
    signals.pop("tma", 0)
    releases = [
        r
        for op, r, _ in signalled
        if op.kind is OpKind.RELEASE and consumer_signal(any_document, r) != "commit"
    ]
    remote = [r for r in releases if routes(any_document, r).crossing]
    assert len(re.findall(r"mbarrier\.arrive\.(?!expect_tx)\S*shared::cluster\S*\s", ptx)) == len(remote)
    local = re.findall(r"mbarrier\.arrive\.shared(?:::cta)?\.b64\s", ptx)
    assert len(local) == signals.total() - len(remote)


def drains_of(document: Document) -> set[Op]:
    """The commits behind which a task waits for its stages: others of the cluster arrive there."""
    machine = Machine(document)
    return {op for t in document.tasks for w in range(t.num_warps) for op in machine.drains(t, w, 0)}


def test_clusters(any_document, ptx_of):
    ptx, size = ptx_of(any_document), prod(any_document.cluster)
    assert ("%cluster_ctarank" in ptx) == (f"cluster=({size}, 1, 1)" in lower(any_document)) == (size > 1)
    meetings = len(ops(any_document, OpKind.CLUSTER_SYNC)) + (size > 1)
    assert ptx.count("barrier.cluster.arrive") == ptx.count("barrier.cluster.wait") == meetings
    shared = [op for op in ops(any_document, OpKind.WORK) if size > 1 and work_of(any_document, op).ctas]
    commits = [
        op
        for kind, signal in ((OpKind.COMMIT, producer_signal), (OpKind.RELEASE, consumer_signal))
        for op in ops(any_document, kind)
        if size > 1 and signal(any_document, find_resource(any_document, op.target)) == "commit"
    ]
    requests = works_named(any_document, "fetch_work_tile") if size > 1 else []
    assert ptx.count(".multicast::cluster") == len(shared) + len(commits) + len(requests)


def work_of(document: Document, op: Op) -> Work:
    return find_work(find_resource(document, op.target), op.work)


def works_named(document: Document, name: str) -> list[Op]:
    return [op for op in ops(document, OpKind.WORK) if op.work == name]


def test_dynamic_queues_and_dependent_launches(any_document, ptx_of):
    ptx = ptx_of(any_document)
    dynamic = any(is_dynamic(r) for r in any_document.resources)
    reads = works_named(any_document, "get_and_advance_work_tile") if dynamic else []
    assert ptx.count("clusterlaunchcontrol.try_cancel.async") == len(
        works_named(any_document, "fetch_work_tile")
    )
    assert ptx.count("clusterlaunchcontrol.query_cancel.is_canceled") == len(reads)
    for work, instruction in (("wait_griddep", "wait"), ("launch_griddep", "launch_dependents")):
        assert ptx.count(f"griddepcontrol.{instruction};") == len(works_named(any_document, work))
    fences = len(ops(any_document, OpKind.FENCE_PROXY_ASYNC)) + len(reads)  # a read fences by itself
    assert ptx.count("fence.proxy.async.shared::cta") == fences


def test_named_barriers_fences_and_groups(any_document, ptx_of):
    ptx = ptx_of(any_document)
    syncs = Counter(
        (barrier.id, barrier.threads)
        for op in ops(any_document, OpKind.BARRIER_SYNC)
        if (barrier := find_target(any_document, op.target))
    )
    found = Counter((int(i), int(n)) for i, n in re.findall(r"bar\.sync\s+(\d+), (\d+);", ptx))
    assert found == syncs
    groups = {g.name: g.kind.value for g in any_document.groups}
    committed = Counter(groups[op.target] for op in ops(any_document, OpKind.GROUP_COMMIT))
    assert ptx.count("wgmma.commit_group") == committed["wgmma"]
    assert ptx.count("cp.async.bulk.commit_group") == committed["bulk_store"]
    reads = sorted(op.count or 0 for op in ops(any_document, OpKind.GROUP_WAIT_READ))
    assert sorted(map(int, re.findall(r"bulk\.wait_group\.read\s+(\d+)", ptx))) == reads
    waits = [op.count or 0 for op in ops(any_document, OpKind.GROUP_WAIT) if groups[op.target] == "wgmma"]
    assert sorted(map(int, re.findall(r"wgmma\.wait_group\S*\s+(\d+)", ptx))) == sorted(waits)


def test_registers_and_launch(any_document, ptx_of):
    ptx = ptx_of(any_document)
    wanted = {task.num_registers for task in any_document.tasks} - {None}
    assert set(map(int, re.findall(r"setmaxnreg\.\w+\.sync\.aligned\.u32\s+(\d+)", ptx))) == wanted
    warps = max(task.warp_idx + task.num_warps for task in any_document.tasks)
    assert f".reqntid {-(-warps // 4) * 128}" in ptx
    assert f".minnctapersm {any_document.ctas_per_sm}" in ptx or not wanted


@pytest.mark.parametrize("dtype, kind", [("fp16", "f16"), ("bf16", "bf16")])
def test_wgmma_shape(document, ptx_of, dtype, kind):
    ptx = ptx_of(document("persistent_gemm"), dtype)
    shapes = re.findall(r"wgmma\.mma_async\.sync\.aligned\.(\S+)", ptx)
    assert shapes == [f"m64n256k16.f32.{kind}.{kind}"] * 4


def test_tensor_memory_and_its_waits_and_fences(any_document, ptx_of):
    ptx = ptx_of(any_document)
    for kind, instruction in TENSOR_CORE.items():
        assert len(re.findall(instruction, ptx)) == len(ops(any_document, kind)), instruction
    works = Counter(
        find_work(find_resource(any_document, op.target), op.work).body
        for op in ops(any_document, OpKind.WORK)
    )
    assert len(re.findall(r"tcgen05\.ld\.", ptx)) == works["sm100.tmem_load"]
    cleared = [r.storage.bytes // 32 for r in any_document.resources if r.name == "cleared"]
    assert len(re.findall(r"tcgen05\.st\.\S*\.x32\.b32", ptx)) == sum(cleared)
    scaled = works["sm100.tcgen05_mma_scaled"]  # four instructions each: 64 columns of fp16, 128 of fp8
    assert ptx.count("tcgen05.mma.cta_group") == 4 * (works["sm100.tcgen05_mma"] + scaled)
    assert ptx.count("kind::mxf8f6f4.block_scale.block32") == 4 * scaled
    rows = [dict(work_of(any_document, op).params).get("rows", 0) for op in ops(any_document, OpKind.WORK)]
    assert ptx.count("tcgen05.cp.cta_group::1.32x128b.warpx4") == sum(rows) // 128
    in_flight = False
    for ld, wait, cvt in re.findall(r"(tcgen05\.ld)|(tcgen05\.wait::ld)|(cvt\.rn\.f16)", ptx):
        in_flight = bool(ld) or (in_flight and not wait) if ld or wait else in_flight
        assert not (cvt and in_flight), "values are converted before the wait for their load"


TENSOR_CORE = {
    OpKind.TMEM_ALLOC: r"tcgen05\.alloc\.",
    OpKind.TMEM_DEALLOC: r"tcgen05\.dealloc\.",
    OpKind.TMEM_RELINQUISH: r"tcgen05\.relinquish_alloc_permit\.",
    OpKind.TCGEN05_FENCE_BEFORE: r"tcgen05\.fence::before_thread_sync",
    OpKind.TCGEN05_FENCE_AFTER: r"tcgen05\.fence::after_thread_sync",
    OpKind.TCGEN05_WAIT_LD: r"tcgen05\.wait::ld",
    OpKind.TCGEN05_WAIT_ST: r"tcgen05\.wait::st",
}


@pytest.mark.parametrize(
    "tile, shape, count", [((64, 128, 4, 6), "m64n128k16", 4), ((256, 128, 8, 3), "m64n128k16", 8)]
)
def test_tiles_and_warpgroups(tiled, ptx_of, tile, shape, count):
    ptx = ptx_of(tiled(*tile))
    assert ptx.count(f"wgmma.mma_async.sync.aligned.{shape}.") == count


@pytest.mark.parametrize(
    "tile, message",
    [
        ((64, 256, 8, 4), "shared by warpgroups cannot be cut"),
        ((96, 128, 8, 4), "2 warpgroups cannot share a tile of 96 x 128"),
        ((128, 320, 4, 2), "1 warpgroups cannot share a tile of 128 x 320"),
        ((128, 128, 6, 4), "whole, aligned warpgroups"),
    ],
)
def test_tiles_that_do_not_fit_are_refused(tiled, tile, message):
    with pytest.raises(LoweringError, match=message):
        lower(tiled(*tile))


def test_a_product_too_wide_for_the_registers_at_launch_is_refused(document):
    """The compiler refuses it too, and asks for the same number."""
    shared = replace(document("persistent_gemm"), ctas_per_sm=2)
    with pytest.raises(
        LoweringError, match=r"64 x 256 needs 154 registers a thread at launch; 2 CTA.* with 80"
    ):
        lower(shared)
    source = lower(document("persistent_gemm")).replace(
        "min_blocks_per_mp=1", "min_blocks_per_mp=2, preferred_smem_carveout=100"
    )
    with pytest.raises(CompileError, match=r"Insufficient registers \(80\)[\s\S]*register target of 154"):
        compile_module(source)


def test_bulk_copies(document, ptx_of):
    ptx = ptx_of(document("persistent_gemm"))
    assert len(re.findall(r"cp\.async\.bulk\.tensor\.2d\.shared\S*mbarrier", ptx)) == 2
    assert len(re.findall(r"cp\.async\.bulk\.tensor\.2d\.global\S*bulk_group", ptx)) == 4


def test_a_watchdog_build_compiles_and_costs_no_registers(document):
    compiled = compile_module(lower(document("persistent_gemm"), build="watchdog"))
    assert compiled.ptx.count("trap;") == 2  # one for each of the two waits
    assert (compiled.resources.registers, compiled.resources.stack_bytes) == (168, 0)


def test_a_jitter_build_compiles_and_spills_nothing(document):
    source = lower(document("persistent_gemm"), build="jitter")
    compiled = compile_module(source)
    calls = [name for name in re.findall(r"\bop\.(\w+)\(", source) if name != "arm"]
    assert compiled.ptx.count("nanosleep.u32") == len(calls)
    assert compiled.resources.stack_bytes == 0


def test_a_profile_build_compiles_and_costs_no_registers(document):
    source = lower(document("persistent_gemm"), build="profile")
    compiled = compile_module(source)
    assert compiled.ptx.count("%globaltimer") == 2  # at the start and at the end of each warp
    assert (compiled.resources.registers, compiled.resources.stack_bytes) == (168, 0)
    assert compile_module(lower(document("tma_copy"), build="profile")).resources.stack_bytes == 0


LAYOUT = """
import json, runpy, sys
module = runpy.run_path(sys.argv[1])
module["build"]()
rows = [(r.place, r.words, [op for op, *_ in r.ops], len(r.readings)) for r in module["LAYOUT"] if r.ops]
print(json.dumps([rows, module["STEPS"], module["values_of_a_warp"]() - module["HEADER"]]))
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["gemm", "ping_pong_gemm", "residual_gemm", "blackwell_pair_gemm"])
def test_each_op_of_a_profile_build_has_a_place_of_its_own(document, name, tmp_path):
    source = lower(document(name), build="profile")
    path = tmp_path / "kernel.py"
    path.write_text(source)
    done = subprocess.run(
        [sys.executable, "-c", LAYOUT, str(path)], capture_output=True, text=True, check=True
    )
    rows, steps, room = json.loads(done.stdout.splitlines()[-1])
    calls = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call) and n.args]
    called = [c.args[0].value for c in calls if ast.unparse(c.func).startswith("op.")]
    assert {op for *_, ops, _ in rows for op in ops} == set(called)
    assert all(readings <= words for _, words, _, readings in rows)
    taken = [place + 4 * step + i for place, words, *_ in rows for step in range(steps) for i in range(words)]
    assert len(taken) == len(set(taken)) and max(taken) < 2 * room


def test_little_is_recorded_between_two_products(document):
    """A warpgroup that multiplies alone has only some instructions' time there: see `profile`. Behind the loop, the turn is
    handed on between two more readings."""
    ptx = compile_module(lower(document("ping_pong_gemm"), build="profile")).ptx
    multiply, behind, *_ = ptx.split("wgmma.fence.sync.aligned")[1].split("wgmma.wait_group.sync.aligned")
    assert (multiply.count("%clock"), multiply.count("st.global")) == (1, 0)
    assert behind.count("%clock64") == 2 + 2
    assert Counter(re.findall(r"st\.global[.\w]*", behind)) == {"st.global.v4.b32": 1, "st.global.v2.b32": 1}


def test_an_epilogue_divides_nothing(document):
    """A correctly rounded division is a call, in the middle of the accumulator's registers."""
    ptx = compile_module(document("residual_gemm")).ptx
    assert "div.rn" not in ptx and "div.full" not in ptx and "rcp.approx" in ptx


def test_names_of_tensors_may_clash_with_anything(document):
    made = document("gemm")
    tensors = tuple(
        replace(t, name=n) for t, n in zip(made.kernel.tensors, ("cute", "op", "launch"), strict=True)
    )
    new = dict(zip("abc", ("cute", "op", "launch"), strict=True))

    def renamed(work):
        return replace(work, params=tuple((k, new[v] if k == "tensor" else v) for k, v in work.params))

    resources = tuple(replace(r, works=tuple(map(renamed, r.works))) for r in made.resources)
    made = replace(made, resources=resources, kernel=replace(made.kernel, tensors=tensors))
    assert compile_module(lower(made)).ptx.count("wgmma.mma_async") == 8  # 2 x 64 rows, 4 x 16 of k


def test_a_document_is_checked_before_it_is_compiled(document):
    assert compile_module(document("tma_copy")).resources.registers > 0


def test_what_the_compiler_says_is_passed_on(document):
    source = lower(document("tma_copy")).replace("cute.arch.block_idx()", "cute.arch.no_such_thing()")
    with pytest.raises(CompileError, match="no_such_thing"):
        compile_module(source)
