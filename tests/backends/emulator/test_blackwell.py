"""Blackwell's kernels in the emulator: right for all shapes and orders, and wrong or stuck where something is missing."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.assets.examples import blackwell_pair_gemm, blackwell_scaled_gemm
from warpdraft.backends.cutedsl import lower
from warpdraft.backends.emulator import ORDERS, EmulationError, emulate, emulate_all
from warpdraft.backends.emulator.launch import prepare
from warpdraft.core.document import Document, Edge, Loop, NamedBarrier, OpKind, Task, Token
from warpdraft.core.edits import DeleteNode, MoveNode, SetPipeline
from warpdraft.core.store import load
from warpdraft.core.tree import find_node, ops_of, walk
from warpdraft.core.verify import verify

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"
LONG = bool(os.environ.get("WARPDRAFT_LONG"))
WIDE = "blackwell_wide_scaled_gemm"  # tiles of 256 columns, one accumulator
NAMES = ["blackwell_gemm", "blackwell_pair_gemm", "blackwell_scaled_gemm", WIDE]
SHAPES, SEEDS = (20, 50) if LONG else (3, 5)


def example(name: str) -> Document:
    if name == WIDE:
        return blackwell_scaled_gemm.build(3, 1, columns=256).document
    return load(EXAMPLES / f"{name}.warpdraft.json")


def shapes(name: str) -> list[dict[str, int]]:
    """Sizes of which none is a multiple of a tile; in the first, sums have no terms."""
    chosen = random.Random(name)
    ragged = [
        {"M": chosen.randrange(1, 400), "N": 8 * chosen.randrange(1, 70), "K": 8 * chosen.randrange(1, 45)}
        for _ in range(SHAPES - 1)
    ]
    return [{"M": 136, "N": 264, "K": 0}, *ragged]


@pytest.mark.timeout(3600 if LONG else 300)  # by the clock, on a busy machine
@pytest.mark.parametrize("shape", range(SHAPES))
@pytest.mark.parametrize("name", NAMES)
def test_random_shapes_in_seeded_interleavings(name, shape):
    document, sizes = example(name), shapes(name)[shape]
    for seed in range(SEEDS):
        outcome = emulate(document, sizes, seed=seed, order=ORDERS[(seed + shape) % len(ORDERS)])
        assert outcome.verdict == "right" and not outcome.notes, (sizes, outcome)


@pytest.fixture(scope="module")
def gemm() -> Document:
    return example("blackwell_gemm")


def edited(document: Document, *edits) -> Document:
    for edit in edits:
        document = edit.apply(document)
    return document


BREAKS = {
    "registers used before the wait for their load": (DeleteNode("epilogue.12"),),
    "an accumulator loaded before it is complete": (DeleteNode("epilogue.05"),),
    "a stage given back before the MMA that reads it": (MoveNode("mma.08", "mma.04", 2),),
    "a stage used before it is full": (MoveNode("mma.05", "mma.04", 2),),
    "columns freed while others still load them": (MoveNode("epilogue.57", "epilogue", 7),),
    "columns that nobody allocated": (DeleteNode("epilogue.02"),),
}


@pytest.mark.parametrize("what", BREAKS)
def test_each_fault_shows_as_wrong_tiles_and_has_a_finding(gemm, what):
    broken = edited(gemm, *BREAKS[what])
    outcome = emulate_all(broken, seeds=2)
    assert outcome.verdict == "wrong" and outcome.wrong_tiles
    assert verify(broken).verdict == "unsafe"


@pytest.mark.parametrize(
    "resource, field, value", [("smem_ab", "bytes", 16384), ("acc", "producer_count", 2)]
)
def test_wrong_counts_and_bytes_stall(gemm, resource, field, value):
    outcome = emulate(edited(gemm, SetPipeline(resource, field, value)))
    assert outcome.verdict == "deadlock"
    assert any(b.warp == "mma.w0" or b.warp.startswith("epilogue") for b in outcome.blocked)


# -- pairs, and tiles that are handed out at run time
@pytest.fixture(scope="module")
def pair() -> Document:
    return example("blackwell_pair_gemm")


def without(document: Document, task: str, kind: OpKind, which: int = 0) -> Document:
    """``document`` without one op of ``kind`` of ``task``."""
    found = next(t for t in document.tasks if t.name == task)
    return DeleteNode([op for op in ops_of(found) if op.kind is kind][which].id).apply(document)


def within_each_cta(document: Document) -> Document:
    """``document`` with a named barrier of those who use tensor memory in each CTA, where the cluster meets first."""
    users = ("mma", "epilogue")
    barrier = NamedBarrier("allocated", 2, 32 * sum(t.num_warps for t in document.tasks if t.name in users))

    def changed(task: Task) -> Task:
        at = next(i for i, n in enumerate(task.body) if getattr(n, "kind", None) is OpKind.CLUSTER_SYNC)
        op = replace(task.body[at], kind=OpKind.BARRIER_SYNC, target="allocated")
        return replace(
            task, body=(*task.body[:at], *([op] if task.name in users else []), *task.body[at + 1 :])
        )

    tasks = tuple(changed(t) for t in document.tasks)
    return replace(document, tasks=tasks, barriers=(*document.barriers, barrier))


PAIR_FAULTS = {
    "an accumulator given back before it is loaded": lambda d: MoveNode(
        of(d, "epilogue", OpKind.RELEASE), loop_of(d, "epilogue"), 1
    ).apply(d),
    "an accumulator multiplied into without a wait": lambda d: without(
        SetPipeline("queue", "stages", 4).apply(d), "mma", OpKind.ACQUIRE
    ),  # with one slot, nobody gets so far ahead
    "a stage of the pair given back before the MMA": lambda d: MoveNode(
        of(d, "mma", OpKind.RELEASE), loop_of(d, "mma", "domain"), 1
    ).apply(d),
    "a response read before it is there": lambda d: without(d, "epilogue", OpKind.WAIT, 1),
    "a response given back before it is read": lambda d: MoveNode(
        of(d, "epilogue", OpKind.RELEASE, 1), loop_of(d, "epilogue"), 1
    ).apply(d),
}


@pytest.mark.parametrize("seed", range(3))
def test_a_barrier_of_each_cta_where_the_cluster_should_meet(pair, seed):
    """The leader's MMAs may come before the other CTA has allocated."""
    broken = within_each_cta(pair)
    assert emulate(broken, {"M": 512, "N": 256, "K": 8}, seed=seed, order="eager").verdict == "wrong"
    assert "WD406" in {f.code for f in verify(broken).errors}


@pytest.mark.timeout(300)
def test_two_pairs_that_bring_rows_to_each_other():
    pairs = blackwell_pair_gemm.build(across=2).document
    report = verify(pairs, budget=600)  # seconds by the clock, on a busy machine
    assert (report.verdict, report.scope.kind) == ("safe", "all")
    for order, sizes in zip(ORDERS, ({"K": 72}, {"M": 136, "K": 0}, {"K": 8}, {"N": 520}), strict=True):
        outcome = emulate(pairs, {"M": 256, "N": 768, "K": 8, **sizes}, order=order)
        assert outcome.verdict == "right" and not outcome.notes
    late = DeleteNode(of(pairs, "mma", OpKind.WAIT)).apply(pairs)
    assert emulate_all(late, {"M": 256, "N": 512, "K": 136}).verdict != "right"


# -- sums without terms, waits and fences of tensor memory
@pytest.mark.parametrize("name", NAMES)
def test_an_accumulator_that_no_product_wrote(name):
    """Without the zeros, or the wait for them, what was there is stored."""
    document, sizes = example(name), {"M": 264, "N": 264, "K": 0}
    cleared = next(op.id for t in document.tasks for op in ops_of(t) if op.work == "clear")
    for missing in (cleared, of(document, "epilogue", OpKind.TCGEN05_WAIT_ST)):
        broken = DeleteNode(missing).apply(document)
        assert emulate_all(broken, sizes).verdict == "wrong"
        assert verify(broken).verdict == "unsafe"


FENCED = {"M": 768, "N": 512, "K": 8}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "name, task, which",
    [
        ("blackwell_gemm", "epilogue", 0),
        ("blackwell_pair_gemm", "epilogue", 0),
        ("blackwell_pair_gemm", "mma", 0),
        ("blackwell_scaled_gemm", "epilogue", 0),
        ("blackwell_scaled_gemm", "mma", 1),
    ],
)
def test_works_run_ahead_of_a_wait_without_a_fence(name, task, which):
    broken = without(example(name), task, OpKind.TCGEN05_FENCE_AFTER, which)
    assert emulate(broken, FENCED, order="eager").verdict == "wrong"
    assert "WD506" in {f.code for f in verify(broken).errors}


def test_a_fence_that_orders_nothing_may_be_left_out(gemm):
    """The only tile's accumulator was never anybody else's."""
    loose = without(gemm, "mma", OpKind.TCGEN05_FENCE_AFTER)
    assert verify(loose).verdict == "safe" and emulate_all(loose).verdict == "right"


def rescaled(document: Document) -> Document:
    """``document`` whose epilogue first stores a part of the accumulator back to where it was loaded from."""
    load = next(op for t in document.tasks for op in ops_of(t) if op.work == "load")
    wait = replace(find_node(document, of(document, "epilogue", OpKind.TCGEN05_WAIT_LD)).node, id="x.wait_ld")
    value = (("fragment", Token("x")),)
    store = replace(load, id="x.store", target="scaled", work="clear", results=(), args=value)
    behind = replace(wait, id="x.wait_st", kind=OpKind.TCGEN05_WAIT_ST)
    more = (replace(load, id="x.load", results=("x",)), wait, store, behind)
    columns = next(r for r in document.resources if r.name == "cleared")
    works = tuple(replace(w, params=(("subtiles", 4),), parameters=("fragment",)) for w in columns.works)
    place = replace(columns.storage, offset=0)

    def changed(task: Task) -> Task:
        at = task.body.index(load) if load in task.body else 0
        body = (*task.body[:at], *more, *task.body[at:]) if at else task.body
        return replace(task, body=body, dst=(*task.dst, "scaled") if at else task.dst)

    scaled = replace(columns, name="scaled", works=works, storage=place)
    resources = (*document.resources, scaled)
    graph = (*document.graph, Edge("acc", "scaled"))
    return replace(document, tasks=tuple(map(changed, document.tasks)), resources=resources, graph=graph)


def test_fragments_are_stored_back(gemm):
    back = rescaled(gemm)
    report = verify(back)
    assert report.verdict == "safe", report.findings
    assert emulate(back, {"M": 136, "N": 264}).verdict == "right" and "op.tmem_store(" in lower(back)
    assert verify(DeleteNode("x.wait_st").apply(back)).verdict == "unsafe"


def of(document: Document, task: str, kind: OpKind, which: int = 0) -> str:
    found = next(t for t in document.tasks if t.name == task)
    return [op.id for op in ops_of(found) if op.kind is kind][which]


def loop_of(document: Document, task: str, kind: str = "tile") -> str:
    found = next(t for t in document.tasks if t.name == task)
    return next(n.id for n in walk(found.body) if isinstance(n, Loop) and n.kind == kind)


@pytest.mark.parametrize("what", PAIR_FAULTS)
def test_each_fault_of_a_pair_shows_and_has_a_finding(pair, what):
    broken = PAIR_FAULTS[what](pair)
    outcome = emulate_all(broken, {"M": 1024, "N": 512, "K": 72}, seeds=3)
    assert outcome.verdict in ("wrong", "deadlock")
    assert verify(broken).verdict == "unsafe"


@pytest.mark.parametrize("nbytes", [32768, 131072])
def test_the_bytes_of_one_cta_or_of_four_stall(pair, nbytes):
    outcome = emulate(SetPipeline("smem_ab", "bytes", nbytes).apply(pair))
    assert outcome.verdict == "deadlock" and any(b.warp.startswith("mma") for b in outcome.blocked)


def test_a_readers_release_that_nobody_counts_stalls_the_next_request(pair):
    outcome = emulate(without(pair, "load", OpKind.RELEASE), {"M": 1024, "N": 1024, "K": 64})
    assert outcome.verdict == "deadlock"


def test_every_cluster_works_until_a_request_fails(pair):
    """Who is given which tile is a matter of chance; a cluster may be given none."""
    dealt = [prepare(pair, {"M": 1024, "N": 512}, None, seed).dealt for seed in range(4)]
    assert all(sorted(t for tiles in of for t in tiles) == list(range(8)) for of in dealt)
    assert len(set(dealt)) > 1
    assert prepare(pair, {"M": 256, "N": 256}, None, 0).dealt == ((0,),)


# -- scale factors
@pytest.fixture(scope="module")
def scaled() -> Document:
    return example("blackwell_scaled_gemm")


SCALED_FAULTS = {
    "factors that are not copied": ("mma.09", "wrong"),
    "another operand's factors that are not copied": ("mma.10", "wrong"),
    "an accumulator multiplied into without a wait": ("mma.04", "deadlock"),
}


@pytest.mark.parametrize("what", SCALED_FAULTS)
def test_each_fault_of_a_scaled_product_shows(scaled, what):
    id, shows = SCALED_FAULTS[what]
    broken = edited(scaled, DeleteNode(id))
    assert emulate_all(broken, {"M": 1024, "N": 256, "K": 264}, seeds=3).verdict == shows
    assert verify(broken).verdict == "unsafe"


def test_wide_tiles_are_safe_and_take_the_factors_of_all_their_columns():
    wide = example(WIDE)
    report = verify(wide)
    assert (report.verdict, report.scope.kind) == ("safe", "all")
    assert {r.name: r.storage.bytes for r in wide.resources if r.name in ("sfa", "sfb")} == {
        "sfa": 4,
        "sfb": 8,
    }
    half = replace(wide, resources=tuple(map(of_128_rows, wide.resources)))
    with pytest.raises(EmulationError, match="reads 32 x 16 x 1 bytes of sfb, which has 1024"):
        emulate(half)


def of_128_rows(resource):
    """``resource`` with copies of the factors of 128 rows."""
    works = tuple(
        replace(w, params=tuple((k, 128 if k == "rows" else v) for k, v in w.params)) for w in resource.works
    )
    return replace(resource, works=works)


@pytest.mark.parametrize("tile", [(128, 192, 128), (128, 64, 128), (128, 128, 64)])
def test_scaled_tiles_that_no_copy_of_factors_fits_are_refused(scaled, tile):
    resources = tuple(
        replace(
            r,
            works=tuple(
                replace(w, params=tuple((k, tile if k == "tile" else v) for k, v in w.params))
                if w.name == "mma"
                else w
                for w in r.works
            ),
        )
        for r in scaled.resources
    )
    with pytest.raises(EmulationError, match="a scaled tile is 128 x 128 or 256, 128 deep"):
        emulate(replace(scaled, resources=resources))


def test_a_product_takes_the_factors_that_were_copied_before_it(scaled):
    """With the copies behind the product, it takes those of the step before."""
    late = edited(scaled, MoveNode("mma.09", "mma.06", 6), MoveNode("mma.10", "mma.06", 6))
    assert emulate(late, {"M": 128, "N": 128, "K": 256}).verdict == "wrong"


def test_bodies_of_another_target_are_refused(gemm):
    with pytest.raises(EmulationError, match=r"sm100\.tcgen05_mma: is for sm_100a, not for sm_90a"):
        emulate(replace(gemm, target="sm_90a"))


def test_the_faults_are_made_where_they_are_meant(gemm):
    kinds = {id: find_node(gemm, id).node.kind for id in ("epilogue.05", "epilogue.12", "mma.05", "mma.08")}
    assert list(kinds.values()) == ["wait", "tcgen05_wait_ld", "wait", "release"]
