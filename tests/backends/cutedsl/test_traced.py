"""An exported kernel does, warp by warp, what `core.unroll` says: stages, parities, arrivals, bytes, barriers' counts."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.backends.cutedsl import lower
from warpdraft.core import (
    AsyncGroup,
    GmemTensor,
    Kernel,
    MBarrier,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    Task,
    TaskManager,
    consumer_work,
    domain_loop,
    elect_lane,
    elect_warp,
    producer_work,
    schedule,
    symbol,
)
from warpdraft.core.document import Op, OpKind
from warpdraft.core.machine import Machine
from warpdraft.core.tree import ops_of
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

TRACED = runpy.run_path(str(Path(__file__).with_name("traced.py")))
traced, expected = TRACED["traced"], TRACED["expected"]


def agree(document, **values):
    """Both sides' lines are the same, and so are the mbarriers."""
    names = {s.name: 3 for s in document.symbols} | values
    tiles = {n.stop.name for t in document.tasks for n in t.body if getattr(n, "kind", "") == "tile"}
    count = next((names[t] for t in tiles), 1)
    lines, inits = traced(lower(document), document, names | {"tile_count": count})
    assert lines == expected(unroll(document, names))
    counted = [
        (i, b.count) for i, b in enumerate(Machine(document).barriers) if b.side != "named" and not b.cta
    ]
    assert inits == [(i, c) for i, c in counted if Machine(document).barriers[i].side != "cluster"]


def test_documents(any_document):
    if any(op.work == "fetch_work_tile" for task in any_document.tasks for op in ops_of(task)):
        pytest.skip("hardware deals the tiles, which the stand-ins do not; the emulator runs these kernels")
    agree(any_document)


class Ring(MemoryResource):
    @producer_work(engine="tma", body="sm90.tma_load", tensor="a", tile=(64, 64), coords=("row", "column"))
    def load(self, stage_info, row, column): ...

    @consumer_work(view=True, returns="chunk")
    def chunk(self, stage_info): ...


class Out(MemoryResource):
    @producer_work(
        engine="bulk_store", body="sm90.bulk_store", tensor="c", tile=(64, 64), coords=("row", "column")
    )
    def store(self, stage_info, chunk, row, column): ...


N = symbol("n")


def kernel():
    tensors = [
        GmemTensor("a", (symbol("M"), 64), "fp16"),
        GmemTensor("c", (symbol("M"), 64), "fp16", role="out"),
    ]
    return Kernel("copy", tensors, {"tile": (64, 64, 64)}, {"n": symbol("M")}, reference="copy")


def ring(**pipeline):
    return Ring(name="ring", storage=8192, pipeline_config=PipelineConfig(**{"num_stages": 2, **pipeline}))


def manager(ring, *schedules, things=(), warps=1):
    """Tasks of ``warps`` warps, one after another."""
    out, group = Out(name="out"), AsyncGroup("bulk_store")
    tasks = [
        Task([ring], [ring, out], 4 * i, warps, schedule=s(ring, out, group, *things), name=s.__name__)
        for i, s in enumerate(schedules)
    ]
    return TaskManager(tasks, {}, kernel=kernel(), name="copy").document


@schedule
def load(ring, out, group, *things):
    with domain_loop(N) as k:
        ring.acquire()
        ring.load(row=k, column=0)
        ring.commit()


@schedule
def use(ring, out, group, *things):
    with domain_loop(N) as k:
        ring.wait()
        out.store(chunk=ring.chunk(), row=k, column=0)
        group.commit()
        group.wait_read(0)
        ring.release()


@schedule
def wait_only(ring, out, group, *things):
    with domain_loop(N) as k:
        ring.wait()
        out.store(chunk=ring.chunk(), row=k, column=0)
        group.commit()
        group.wait_read(0)


@schedule
def release_only(ring, out, group, *things):
    with domain_loop(N) as k:
        ring.try_wait()
        out.store(chunk=ring.chunk(), row=k, column=0)
        ring.release()


@schedule
def acquire_only(ring, out, group, *things):
    with domain_loop(N) as k:
        ring.try_acquire()
        ring.acquire()
        ring.load(row=k, column=0)


@schedule
def commit_only(ring, out, group, *things):
    with domain_loop(N) as k:
        ring.try_acquire()
        ring.load(row=k, column=0)
        ring.commit()


def flagged(document, on_acquire, on_wait):
    """``document`` with these flags, whatever was captured."""
    (found,) = (r for r in document.resources if r.pipeline)
    pipeline = replace(found.pipeline, advance_on_acquire=on_acquire, advance_on_wait=on_wait)
    changed = replace(found, pipeline=pipeline)
    return replace(document, resources=tuple(changed if r is found else r for r in document.resources))


@pytest.mark.parametrize("on_wait", [False, True])
@pytest.mark.parametrize("on_acquire", [False, True])
@pytest.mark.parametrize(
    "schedules",
    [
        (load, use),
        (load, wait_only, release_only),
        (acquire_only, commit_only, use),
        (acquire_only, commit_only, wait_only, release_only),
        (load, wait_only),
        (load, release_only),
        (acquire_only, use),
        (commit_only, use),
    ],
)
def test_cursors_are_those_of_the_unrolled_program(schedules, on_acquire, on_wait):
    for stages in (1, 3):
        document = manager(ring(num_stages=stages), *schedules)
        agree(flagged(document, on_acquire, on_wait), n=7)


@pytest.mark.parametrize("signal", ["warp", "thread", "leader", "leader_threads"])
def test_signals(signal):
    agree(manager(ring(consumer_signaling_threads=signal), load, use, warps=2), n=5)


def test_split_tasks_as_captured():
    document = manager(ring(num_stages=3), acquire_only, commit_only, wait_only, release_only)
    pipeline = next(r.pipeline for r in document.resources if r.pipeline)
    assert pipeline.advance_on_acquire and pipeline.advance_on_wait
    agree(document, n=8)


def test_raw_mbarriers():
    ready, loaded = MBarrier("ready"), MBarrier("loaded", stages=2)

    @schedule
    def signal(ring, out, group, ready, loaded):
        with domain_loop(N) as k:
            ready.arrive(32)
            with elect_warp(1):
                loaded.arrive_expect_tx(8192, stage=1)
            with elect_warp(0):
                ring.acquire()
                ring.load(row=k, column=0)
                ring.commit()

    @schedule
    def follow(ring, out, group, ready, loaded):
        ready.wait(parity=0)
        with domain_loop(N):
            ready.wait()
            loaded.wait(parity=3, stage=1)
            loaded.expect_tx(64, stage=0)
            with elect_lane():
                ready.arrive(2)

    document = manager(ring(), signal, follow, things=(ready, loaded), warps=2)
    agree(document, n=5)
    assert [b.count for b in Machine(document).barriers if b.side == "raw"] == [68, 1, 1]


@pytest.mark.parametrize("split", [False, True])
def test_warps_that_are_not_elected_move_their_cursors(split):
    @schedule
    def one_after_another(ring, out, group):
        with domain_loop(N) as k:
            for warp in (0, 1):
                with elect_warp(warp):
                    ring.acquire()
                    ring.load(row=k, column=0)
                    ring.commit()
            ring.acquire()
            ring.load(row=k, column=0)
            ring.commit()

    @schedule
    def one_signals(ring, out, group, meet):
        with elect_warp(1), domain_loop(2):
            ring.wait()
            ring.release()
        with domain_loop(N) as k:
            with elect_warp(0):
                ring.wait()
            meet.sync()
            out.store(chunk=ring.chunk(), row=k, column=0)
            with k.every(2, start=1), elect_warp(1), domain_loop(2):
                ring.release()

    pipeline = {"advance_on_acquire": split, "advance_on_wait": split, "num_stages": 3}
    agree(manager(ring(**pipeline), one_after_another, warps=3), n=5)
    agree(manager(ring(**pipeline), one_signals, things=(NamedBarrier(1, 96),), warps=3), n=5)


def test_stages_and_parities_that_loops_compute():
    full, empty = MBarrier("full", 1, stages=3), MBarrier("empty", 2, stages=3)

    @schedule
    def signal(ring, out, group, full, empty):
        with domain_loop(2, 5) as outer:
            with domain_loop(1, N, 2) as k:
                with elect_warp():
                    full.arrive(stage=(k + 2 * outer) % 3)
                empty.wait(phase=(outer * N + k) // 3 % 2 ^ 1, stage=k % 3)

    @schedule
    def follow(ring, out, group, full, empty):
        with domain_loop(N) as k:
            full.wait(phase=k // 3 % 2, stage=k % 3)
            empty.arrive(stage=k % 3)

    agree(manager(ring(), signal, follow, things=(full, empty), warps=2), n=9)


def test_what_a_computed_stage_may_not_do():
    def refused(body, things):
        with pytest.raises(Exception) as error:
            lower(manager(ring(), body, things=things))
        return str(error.value)

    @schedule
    def negative(ring, out, group, full):
        with domain_loop(N) as k:
            full.wait(phase=0, stage=(k - 1) % 3)

    @schedule
    def in_turn(ring, out, group, full):
        with domain_loop(N) as k:
            full.wait(stage=k % 3)

    @schedule
    def peek(ring, out, group, full):
        full.try_wait(phase=0)

    full = MBarrier("full", 1, stages=3)
    assert "may divide a negative number" in refused(negative, (full,))
    assert "give each wait its parity" in refused(in_turn, (full,))
    assert "a peek at the raw mbarrier full is not lowered" in refused(peek, (full,))


def test_a_stage_that_an_mbarrier_does_not_have_is_refused():
    @schedule
    def signal(ring, out, group, ready):
        ready.arrive(stage=2)

    document = manager(ring(), signal, things=(MBarrier("ready", stages=2),))
    with pytest.raises(Exception, match=r"signal\.01: ready has no stage 2, only 2"):
        lower(document)


def test_a_drain_leaves_the_cursor_where_it_was(document):
    """Behind every tile, and at the end: the next tile's acquires go on as if nothing had been waited for."""
    made = document("hopper_gemm")
    load, *others = made.tasks
    (tiles,) = load.body
    drain = Op("load.99", OpKind.PRODUCER_TAIL, "smem_ab")
    inside = replace(load, body=(replace(tiles, body=(*tiles.body, drain)),))
    for task in (inside, replace(load, body=(tiles, drain))):
        agree(replace(made, tasks=(task, *others)))


@schedule
def read(ring, out, group, *things):
    with domain_loop(N):
        ring.wait()
        ring.release()


def test_copies_of_several_warps():
    """The first warp acquires, arms and copies; the others have no event of the ring (`core.leading`)."""
    document = manager(ring(num_stages=2), load, read, warps=4)
    agree(document, n=5)
    assert verify(document).verdict == "safe"
    of_load = [s for s in unroll(document, {"n": 5, "M": 5}).streams if s.task == "load"]
    assert [bool(s.events) for s in of_load] == [True] + [False] * (len(of_load) - 1)
