"""Our scripts through Task Scheduling's public interface: nothing that its objects hold is lost, and they are safe."""

import pytest

from warpdraft.backends.nvidia_ts.annotations import AnnotationError, loads_annotations
from warpdraft.backends.nvidia_ts.apply import apply_annotations
from warpdraft.backends.nvidia_ts.bounds import taken_apart
from warpdraft.core import verify
from warpdraft.core.document import Guard, GuardKind, Loop, Op, OpKind, Signal, Space, Token
from warpdraft.core.layout import layout
from warpdraft.core.tree import find_resource, find_task, ops_of, walk

pytestmark = [pytest.mark.xdist_group("nvidia_ts")]
ALONE = (
    "aliases async_async async_umma clc_queue conditions dynamic_domain gemm leader_bytes one_warp pdl ping_pong "
    "skipped_tiles tma_async"
).split()
SEVERAL = {"groups": ("Merge", "Fork", "FusedMerge"), "interleaved": ("domains", "warps")}


def kinds(task):
    return [o.kind.value if o.kind is not OpKind.WORK else o.work for o in ops_of(task)]


def loops(task):
    return [n for n in walk(task.body) if isinstance(n, Loop)]


def guards(task):
    return [n for n in walk(task.body) if isinstance(n, Guard)]


@pytest.mark.parametrize("name", [*ALONE, *SEVERAL])
def test_right_schedules_are_safe_in_both_eyes(built, name):
    found = built(name)
    assert len(found.documents) == len(SEVERAL.get(name, [name]))
    for document, opinion in zip(found.documents, found.opinions, strict=True):
        report = verify(document)
        assert report.verdict == "safe", [f.message for f in report.findings]
        assert report.scope.defaults and not document.gaps
        assert (opinion.verdict, opinion.reason) == ("accepted", "") and opinion.states > 0


def test_a_manager_of_the_size_of_production(built):
    (document,) = built("attention").documents
    assert (len(document.tasks), len(document.resources), sum(t.num_warps for t in document.tasks)) == (
        7,
        14,
        16,
    )
    report = verify(document)
    assert (report.verdict, report.scope.kind) == ("safe", "all")


def test_p12_is_safe_though_task_scheduling_sees_a_deadlock(built):
    found = built("split_consumer")
    assert verify(found.documents[0]).verdict == "safe"
    assert found.opinions[0].verdict == "rejected" and "deadlock" in found.opinions[0].reason
    ring = find_resource(found.documents[0], "a").pipeline
    assert ring.advance_on_wait  # set while the manager is built


def test_a_ring(built):
    document = built("tma_async").documents[0]
    load, use = document.tasks
    assert (load.name, load.warp_idx, load.num_warps, load.num_registers) == ("load", 0, 1, None)
    assert (use.warp_idx, use.num_warps, use.num_registers, use.src, use.dst) == (
        4,
        4,
        232,
        ("tile",),
        ("out",),
    )
    assert kinds(load) == ["coords", "try_acquire", "acquire", "load", "commit", "producer_tail"]
    tail = list(ops_of(load))[-1]
    assert tail.implicit and tail.source is None
    copy = next(o for o in ops_of(load) if o.work == "load")
    assert copy.args == (("coord", Token("coord")),) and copy.source.file.endswith("tma_async.py")
    first, every, last = guards(use)
    assert (first.kind, every.kind, last.kind) == (GuardKind.FIRST_ITER, GuardKind.EVERY, GuardKind.LAST_ITER)
    assert (every.period, every.start, every.loop) == (2, 1, "k")
    scaled = [o for o in ops_of(use) if o.work == "scaled"]
    assert [o.args for o in scaled] == [
        (("factor", 1), ("last", False)),
        (("factor", 2), ("last", False)),
        (("factor", 3), ("last", True)),
    ]
    tile = find_resource(document, "tile")
    assert (tile.space, tile.pipeline.stages, tile.pipeline.type, tile.pipeline.bytes) == (
        Space.SMEM,
        3,
        "TmaAsync",
        16384,
    )
    assert (tile.pipeline.producer_count, tile.pipeline.consumer_count) == (1, 4)
    assert (tile.storage.bytes, tile.storage.stages) == (16384, 3)
    assert {(e.upstream, e.downstream) for e in document.graph} == {("source", "tile"), ("tile", "out")}
    assert [(loop.start, loop.stop, loop.step, loop.var) for loop in loops(use)] == [(0, 8, 1, "k")]


def test_threads_and_their_copies(built):
    plain, copied = (find_resource(built("async_async").documents[0], n) for n in ("plain", "copied"))
    assert plain.pipeline.advance_on_acquire and plain.pipeline.producer_signal is Signal.THREAD
    assert copied.pipeline.producer_signal is Signal.CP_ASYNC
    assert (copied.pipeline.producer_count, copied.pipeline.consumer_count) == (64, 128)


def test_tensor_cores(built):
    document = built("gemm").documents[0]
    assert (
        document.target == "sm_100a" and document.smem_capacity == 200_000 and document.tmem_capacity is None
    )
    acc, pointer = find_resource(document, "acc"), find_resource(document, "tmem_ptr")
    assert (acc.space, acc.storage.bytes, acc.storage.stages) == (Space.TMEM, 128, 2)
    assert (pointer.storage.bytes, pointer.storage.alignment) == (4, 4)
    mma = find_task(document, "mma")
    assert kinds(mma) == ["acquire", "wait", "describe", "mma", "release", "commit", "producer_tail"]
    types = {
        r.pipeline.type
        for d in (document, built("async_umma").documents[0])
        for r in d.resources
        if r.pipeline
    }
    assert types == {"TmaUmma", "UmmaAsync", "AsyncUmma", "UmmaUmma"}


def test_a_dynamic_queue(built):
    document = built("clc_queue").documents[0]
    queue = find_resource(document, "queue")
    assert (queue.space, queue.pipeline.type, dict(queue.params)["scheduler"]) == (
        Space.QUEUE,
        "ClcFetchAsync",
        "ClcDynamicPersistent",
    )
    fetch = find_task(document, "fetch")
    assert kinds(fetch)[-1] == "producer_tail" and loops(fetch)[0].queue == "queue"
    assert [s.name for s in document.symbols] == ["tiles"]


def test_skipped_tiles(built):
    document = built("skipped_tiles").documents[0]
    for task in document.tasks:
        outer = loops(task)[0]
        assert (outer.kind, outer.queue, outer.skip_if) == ("tile", "queue", "Sparse.skip_work_tile_if")
        assert [g.kind for g in guards(task)] == [GuardKind.SKIPPABLE]
    # a queue that only counts has nothing to wait for
    assert not {OpKind.WAIT, OpKind.RELEASE} & {
        o.kind for o in ops_of(document.tasks[0]) if o.target == "queue"
    }
    assert kinds(document.tasks[0])[:2] == ["decide", "init_work_tile"]


@pytest.mark.parametrize("number", range(3))
def test_groups(built, number):
    document = built("groups").documents[number]
    (group,) = document.pipeline_groups
    assert (group.mode.value, group.members) == (SEVERAL["groups"][number], ("a", "b"))
    used = {o.kind.value for t in document.tasks for o in ops_of(t) if o.target == "both"}
    assert used == [{"release"}, {"commit"}, {"wait", "release"}][number]
    tails = [o.target for t in document.tasks for o in ops_of(t) if o.kind is OpKind.PRODUCER_TAIL]
    assert tails == [["a", "b"], ["a"], ["a", "b"]][number]


def test_lanes(built):
    domains, warps = built("interleaved").documents
    assert find_resource(domains, "ring").pipeline.interleave == (1, 1, 2, 2)
    assert [(loops(t)[0].start, loops(t)[0].step) for t in domains.tasks[1:]] == [(0, 2), (1, 2)]
    assert find_resource(warps, "ring").pipeline.interleave == (2, 2, 2, 2)


def test_a_cluster(built):
    document = built("leader_bytes").documents[0]
    assert document.cluster == (2, 1, 1)
    ab, acc = (find_resource(document, n).pipeline for n in ("ab", "acc"))
    assert ab.cta_layout == (2, 1, 1, 1) and ab.consumer_cta_leader and acc.producer_cta_leader
    assert ab.bytes == 4 * 16384 and find_task(document, "load").num_warps == 2


def test_grids(built):
    document = built("pdl").documents[0]
    assert {r.name for r in document.resources if r.space is Space.PDL} == {"before", "after"}
    assert kinds(document.tasks[0])[0] == "wait_griddep" and "launch_griddep" in kinds(document.tasks[1])


def test_a_grid_that_is_waited_for_ahead_of_all_tasks(built):
    ahead, never = (built("pdl", who).documents[0] for who in ("ahead", "nobody"))
    first = [next(iter(ops_of(t))) for t in ahead.tasks]
    assert all((o.work, o.implicit) == ("wait_griddep", True) for o in first)
    assert verify(ahead).verdict == "safe"
    assert not [o for t in never.tasks for o in ops_of(t) if o.work == "wait_griddep"]


def test_conditions(built):
    document = built("conditions").documents[0]
    (shared,) = guards(document.tasks[0])
    mine, true, false = guards(document.tasks[1])
    assert (shared.key, mine.key, shared.kind) == ("masked", "masked", GuardKind.WHEN_TRUE)
    assert (true.key, true.token, true.kind) == ("state.decide.flag", "flag", GuardKind.WHEN_TRUE)
    assert (false.key, false.kind) == (true.key, GuardKind.WHEN_FALSE)


def test_one_getter_with_one_field_is_one_symbol(built):
    tied, apart = built("dynamic_domain").documents[0], built("dynamic_domain", 7, 9).documents[0]
    names = [loops(t)[1].stop.name for t in tied.tasks]
    assert names == ["Sized_get_domain"] * 2 and loops(tied.tasks[0])[1].stop.per_tile
    assert next(s for s in tied.symbols if s.per_tile).min == 7  # max(7, 1)
    assert [loops(t)[1].stop.name for t in apart.tasks] == ["Sized_get_domain", "Sized_get_domain_2"]
    assert "WD302" in {f.code for f in verify(apart).findings}


def test_a_stage_that_goes_back_and_forth(built):
    """Edges that no task backs in one direction, scratch, a value in two mailboxes, a getter with an offset."""
    found = built("handoff")
    document = found.documents[0]
    assert not document.gaps
    queue, scratch = (find_resource(document, n) for n in ("queue", "acc_scratch"))
    assert queue.storage.bytes * queue.storage.stages == 16 and find_resource(document, "responses") is None
    assert (scratch.space, scratch.storage.bytes, scratch.works) == (Space.SMEM, 512, ())
    bounds = [loops(find_task(document, n))[1].stop.name for n in ("mma", "rewrite", "store")]
    assert bounds == ["Rounds_get_domain", "Rounds_get_domain_2", "Rounds_get_domain"]
    put = [o for o in ops_of(find_task(document, "rewrite")) if o.work in ("put", "add")]
    assert {o.args for o in put} == {(("total", Token("total")),)}
    more = loads_annotations(
        'warpdraft-annotations = 1\n[symbols.Rounds_get_domain_2]\nequals = "Rounds_get_domain + 1"\n'
    )
    report = verify(apply_annotations(document, more))
    assert (report.verdict, report.scope.kind) == ("safe", "all"), [f.message for f in report.findings]
    alone = verify(document, trip_counts={"tiles": [1], "Rounds_get_domain": [2], "Rounds_get_domain_2": [2]})
    assert "WD103" not in {f.code for f in alone.findings} and alone.verdict == "unsafe"
    (case,) = {f.case for f in alone.errors}
    assert taken_apart(document, dict(case)) == ""
    assert 'equals = "Rounds_get_domain + 1"' in taken_apart(document, dict(case) | {"Rounds_get_domain": 3})
    view = loads_annotations('warpdraft-annotations = 1\n[works."sums.start"]\nview = true\n')
    assert "rewrite: total" in apply_annotations(document, view).gaps[0]


def test_equals_that_goes_in_circles(built):
    for text, why in (
        ('equals = "Rounds_get_domain_2"', "must not follow"),
        ('equals = "tiles"', "for each tile"),
        ('equals = "Rounds_get_domain"\nmin = 1', "says all"),
    ):
        said = loads_annotations(f"warpdraft-annotations = 1\n[symbols.Rounds_get_domain_2]\n{text}\n")
        with pytest.raises(AnnotationError, match=why):
            apply_annotations(built("handoff").documents[0], said)


def test_buffers_that_share_bytes(built):
    found = built("aliases")
    document, manager = found.documents[0], found.managers[0]
    tile, staging = (find_resource(document, n).storage for n in ("tile", "staging"))
    assert tile.alias == staging.alias != "" and tile.phase != staging.phase
    places = layout(document).offsets
    assert places["tile"] == places["staging"]
    theirs = {a.name: a.offset for a in manager._smem_allocator._allocations}
    assert find_resource(document, "scratch").storage.bytes == 512 and "scratch" in theirs


def test_two_tasks_on_one_warp_run_one_after_the_other(built):
    document = built("one_warp").documents[0]
    first = document.tasks[0]
    assert first.name == "load_a_then_load_b" and len({n.id for n in walk(first.body)}) == len(
        list(walk(first.body))
    )
    ops = [(o.target, o.kind) for o in ops_of(first) if o.target in ("a", "b")]
    assert ops.index(("a", OpKind.PRODUCER_TAIL)) < ops.index(("b", OpKind.ACQUIRE))


def test_every_op_of_a_task_names_its_line(built):
    for name in ALONE:
        for document in built(name).documents:
            ops = [o for t in document.tasks for o in ops_of(t)]
            assert all(o.source is not None or o.implicit for o in ops if isinstance(o, Op)), name


def test_features_together(built):
    lanes, skipped, aliases = built("combined").documents
    for document in (lanes, skipped, aliases):
        report = verify(document)
        assert (report.verdict, document.gaps) == ("safe", ()), [f.message for f in report.findings]
    assert [find_resource(lanes, n).pipeline.interleave for n in "ab"] == [(1, 1, 2, 2)] * 2
    assert [(loops(t)[0].start, loops(t)[0].step) for t in lanes.tasks[2:]] == [(0, 2), (1, 2)]
    assert lanes.pipeline_groups[0].members == ("a", "b")
    assert all(loops(t)[0].skip_if == "Sparse.skip_work_tile_if" for t in skipped.tasks)
    assert [find_resource(skipped, n).pipeline.advance_on_wait for n in "ab"] == [True, True]
    placed = layout(aliases).offsets
    assert placed["staging"] == placed["a"] < placed["b"]
