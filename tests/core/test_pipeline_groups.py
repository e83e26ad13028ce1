"""Pipeline groups: shared barriers, counts and bytes of their members, proofs, mutants, WD216, and how they are written."""

from dataclasses import replace

import pytest
from against_explorer import disagreement
from explorer import explore

from warpdraft.core import store
from warpdraft.core.arrivals import armed_bytes, empty_count, first_acquire, full_count
from warpdraft.core.consistency import problem
from warpdraft.core.document import OpKind, Pipeline, PipelineGroup, PipelineGroupMode, Signal
from warpdraft.core.edits import Add, EditError, Remove, Rename
from warpdraft.core.hazards import pipeline_group
from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    elect,
    fence,
    loop,
    op,
    release,
    ring,
    task,
    wait,
    work,
)
from warpdraft.core.layout import layout
from warpdraft.core.machine import Machine
from warpdraft.core.pipeline_groups import spelled_out
from warpdraft.core.tables import schedule_table
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

MERGE, FORK, FUSED = PipelineGroupMode


def group(mode, members=("a", "b"), **fields):
    return PipelineGroup("g", mode, members, **fields)


def load(name, warp, kind="load"):
    return task(f"load_{name}", warp, 1, loop(acquire(name), work(name, kind), commit(name)))


def merged(a=None, b=None, stages=2, warps=4, fused=False, peek=False, end=None, **fields):
    """Two producers, one consumer of both."""
    a, b = a or ring("a", stages), b or ring("b", stages)
    kinds = [r.works[0].name for r in (a, b)]
    waits = (wait("g"),) if fused else (wait("a"), wait("b"))
    if peek:
        waits = (op(OpKind.TRY_WAIT, "g"), *waits)
    use = loop(*waits, work("a", "read"), work("b", "read"), fence(), end or release("g"))
    return document(
        "merge",
        load("a", 0, kinds[0]),
        load("b", 1, kinds[1]),
        task("use", 4, warps, use, src=("a", "b")),
        resources=(a, b),
        pipeline_groups=(group(FUSED if fused else MERGE, **fields),),
    )


def forked(make=ring, kind="load", stages=2, second=True, warps=(4, 4), **fields):
    """One producer of two buffers, each with a consumer of its own. ``second``: it also fills the second one."""
    a, b = make("a", stages), make("b", stages)
    more = (work("b", kind),) if second else ()
    fill = loop(acquire("a"), acquire("b"), work("a", kind), *more, commit("g"))

    def use(name, warp, warps):
        return task(f"use_{name}", warp, warps, loop(wait(name), work(name, "read"), fence(), release(name)))

    return document(
        "fork",
        task("load", 0, 1, fill, dst=("a", "b")),
        use("a", 4, warps[0]),
        use("b", 8, warps[1]),
        resources=(a, b),
        pipeline_groups=(group(FORK, **fields),),
    )


def codes(found):
    return {f.code for f in verify(found).errors}


def events(found, name, **values):
    """(kind, barrier, number, bytes) of the first warp of a task."""
    program = unroll(found, values or {"k_tiles": 1})
    stream = next(s for s in program.streams if s.task == name)
    return [
        (e.kind.name, program.barriers[e.barrier].name, e.number, e.bytes)
        for e in stream.events
        if e.barrier >= 0
    ]


def aliased(name, stages):
    """Buffers that lie over one another: what fills one fills both."""
    found = ring(name, stages)
    return replace(found, storage=replace(found.storage, alias="one", phase=int(name == "b")))


# -- what is shared -------------------------------------------------------------------------------------------------------
def test_members_of_a_merge_share_their_empty_barriers():
    found = merged(stages=1)
    names = [b.name for b in Machine(found).barriers if b.side in ("full", "empty")]
    assert names == ["full a[0]", "empty g[0]", "full b[0]"]
    assert events(found, "load_b") == [
        ("WAIT", "empty g[0]", -1, 0),
        ("ARRIVE_EXPECT", "full b[0]", 1, 1024),
        ("ASYNC", "full b[0]", 0, 1024),
    ]
    assert events(found, "use") == [
        ("WAIT", "full a[0]", 0, 0),
        ("WAIT", "full b[0]", 0, 0),
        ("ARRIVE", "empty g[0]", 1, 0),
    ]
    assert [empty_count(found, r) for r in found.resources] == [4, 4]
    assert [full_count(found, r) for r in found.resources] == [1, 1]


def test_a_fused_merge_waits_for_the_bytes_of_all_members_on_one_barrier():
    found = merged(stages=1, fused=True, peek=True)
    names = [b.name for b in Machine(found).barriers if b.side in ("full", "empty")]
    assert names == ["full g[0]", "empty g[0]"]
    assert events(found, "load_b")[1:] == [
        ("ARRIVE_EXPECT", "full g[0]", 1, 1024),
        ("ASYNC", "full g[0]", 0, 1024),
    ]
    assert events(found, "use") == [
        ("TRY", "full g[0]", 0, 0),
        ("WAIT", "full g[0]", 0, 0),
        ("ARRIVE", "empty g[0]", 1, 0),
    ]
    assert [full_count(found, r) for r in found.resources] == [2, 2]


def test_a_fork_is_armed_by_its_first_member_and_committed_once():
    found = forked(stages=1)
    names = [b.name for b in Machine(found).barriers if b.side in ("full", "empty")]
    assert names == ["full g[0]", "empty a[0]", "empty b[0]"]
    assert events(found, "load") == [
        ("WAIT", "empty a[0]", -1, 0),
        ("ARRIVE_EXPECT", "full g[0]", 1, 2048),
        ("WAIT", "empty b[0]", -1, 0),
        ("ASYNC", "full g[0]", 0, 1024),
        ("ASYNC", "full g[0]", 0, 1024),
    ]
    a, b = found.resources
    first = first_acquire(found.tasks[0], a)
    assert armed_bytes(found, a, found.tasks[0], first) == 2048
    assert (empty_count(found, a), empty_count(found, b)) == (4, 4)
    threads = forked(channel, "fill", stages=1)
    assert [e for e in events(threads, "load") if e[0] == "ARRIVE"] == [("ARRIVE", "full g[0]", 1, 0)]


def test_shared_barriers_take_room_once():
    alone = replace(merged(), pipeline_groups=())
    assert layout(alone).barrier_bytes - layout(merged()).barrier_bytes == 16
    assert layout(alone).barrier_bytes - layout(merged(fused=True)).barrier_bytes == 32


def test_threads_release_a_merge_in_which_threads_fill_a_member():
    found = merged(a=ring("a"), b=channel("b", type="AsyncAsync"))
    assert [empty_count(found, r) for r in found.resources] == [128, 128]
    assert [full_count(found, r) for r in found.resources] == [1, 32]
    fused = merged(a=ring("a"), b=channel("b", type="AsyncAsync"), fused=True)
    assert [full_count(fused, r) for r in fused.resources] == [33, 33]
    assert verify(fused).verdict == verify(found).verdict == "safe"


def test_counts_are_the_groups_if_it_declares_them():
    own = Pipeline(2, "TmaAsync", bytes=2048, producer_count=2, consumer_count=4)
    sized = [replace(r, pipeline=replace(r.pipeline, bytes=1024)) for r in (ring("a"), ring("b"))]
    found = merged(*sized, fused=True, pipeline=own)
    assert verify(found).verdict == "safe"
    assert [full_count(found, r) for r in found.resources] == [2, 2]
    for wrong in ({"bytes": 1024}, {"producer_count": 1}, {"consumer_count": 1}, {"stages": 4}):
        assert "WD216" in codes(merged(*sized, fused=True, pipeline=replace(own, **wrong)))


def test_an_op_of_a_group_is_spelled_out_once_for_each_member():
    found = spelled_out(merged())
    ops = [(o.id, o.target) for o in found.tasks[2].body[0].body if o.kind is OpKind.RELEASE]
    assert ops == [("use.06", "a"), ("use.06", "b")]
    assert spelled_out(found) is found


# -- verdicts -------------------------------------------------------------------------------------------------------------
GOOD = {
    "merge": merged(),
    "merge of 3 stages": merged(stages=3),
    "merge of threads and copies": merged(b=channel("b", type="AsyncAsync")),
    "fused": merged(fused=True),
    "fused, with peeks": merged(fused=True, peek=True, stages=3),
    "fused of threads and copies": merged(a=channel("a", type="AsyncAsync"), fused=True),
    "fork": forked(),
    "fork of 1 stage": forked(stages=1),
    "fork of threads": forked(channel, "fill", stages=3),
    "fork of one buffer": forked(aliased, second=False),
    "fork of unequal consumers": forked(warps=(4, 1)),
    "merge with cursors of its own": merged(
        a=ring("a", 3, advance_on_wait=True), b=ring("b", 3, advance_on_wait=True)
    ),
    "merge of one": replace(
        document(
            "one",
            load("a", 0),
            task("use", 4, 4, loop(wait("a"), work("a", "read"), fence(), release("g")), src=("a",)),
            resources=(ring("a"),),
        ),
        pipeline_groups=(group(MERGE, ("a",)),),
    ),
}


@pytest.mark.parametrize("found", GOOD.values(), ids=GOOD)
def test_groups_are_proved_for_all_trip_counts(found):
    report = verify(found)
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.findings


def dropped(found, name, *which):
    """Without the ops of task ``name`` that have one of these (kind, target)."""

    def without(body):
        kept = [n for n in body if (getattr(n, "kind", None), getattr(n, "target", None)) not in which]
        return tuple(replace(n, body=without(n.body)) if hasattr(n, "body") else n for n in kept)

    tasks = tuple(replace(t, body=without(t.body)) if t.name == name else t for t in found.tasks)
    return replace(found, tasks=tasks)


def changed(found, name, **pipeline):
    resources = tuple(
        replace(r, pipeline=replace(r.pipeline, **pipeline)) if r.name == name else r for r in found.resources
    )
    return replace(found, resources=resources)


def retargeted(found, old, new, kind):
    def node(n):
        if hasattr(n, "body"):
            return replace(n, body=tuple(map(node, n.body)))
        return replace(n, target=new) if (n.kind, n.target) == (kind, old) else n

    return replace(found, tasks=tuple(replace(t, body=tuple(map(node, t.body))) for t in found.tasks))


MUTANTS = {
    "release left out": (dropped(merged(), "use", (OpKind.RELEASE, "g")), {"WD302"}),
    "one wait left out": (dropped(merged(), "use", (OpKind.WAIT, "b")), {"WD401", "WD403", "WD205", "WD206"}),
    "acquire left out": (dropped(merged(), "load_b", (OpKind.ACQUIRE, "b")), {"WD105"}),
    "second acquire left out": (dropped(forked(), "load", (OpKind.ACQUIRE, "b")), {"WD105"}),
    "first acquire left out": (dropped(forked(), "load", (OpKind.ACQUIRE, "a")), {"WD105"}),
    "commit left out": (dropped(forked(channel, "fill"), "load", (OpKind.COMMIT, "g")), {"WD302"}),
    "fused wait left out": (dropped(merged(fused=True), "use", (OpKind.WAIT, "g")), {"WD401", "WD105"}),
    "one consumer does not release": (dropped(forked(), "use_b", (OpKind.RELEASE, "b")), {"WD302"}),
    "a member's count": (changed(merged(fused=True), "b", producer_count=2), {"WD201"}),
    "a shared count": (changed(changed(merged(), "a", consumer_count=8), "b", consumer_count=8), {"WD201"}),
    "unequal counts": (changed(merged(), "a", consumer_count=4), {"WD216"}),
    "bytes": (changed(merged(fused=True), "a", bytes=512), {"WD203"}),
    "bytes of a fork": (changed(changed(forked(), "a", bytes=1024), "b", bytes=1024), {"WD203"}),
    "unequal bytes of a fork": (changed(forked(), "b", bytes=1024), {"WD216"}),
    "stages": (changed(merged(), "b", stages=3), {"WD216"}),
    "flags": (changed(merged(), "b", advance_on_wait=True), {"WD216"}),
    "kinds of consumer": (changed(merged(), "b", consumer_signal=Signal.COMMIT), {"WD216"}),
    "kinds of producer": (
        replace(forked(), resources=(ring("a"), replace(channel("b"), works=ring("b").works[1:]))),
        {"WD216"},
    ),
    "release of a member": (retargeted(merged(), "g", "a", OpKind.RELEASE), {"WD216"}),
    "wait of the group": (retargeted(merged(), "a", "g", OpKind.WAIT), {"WD216"}),
    "commit of a member": (retargeted(forked(), "g", "a", OpKind.COMMIT), {"WD216"}),
    "wait of a member": (retargeted(merged(fused=True), "g", "b", OpKind.WAIT), {"WD216"}),
    "no pipeline": (
        replace(merged(), resources=(ring("a"), replace(ring("b"), pipeline=None))),
        {"WD216"},
    ),
    "release by one warp for all": (merged(end=elect(release("g"))), {"WD401", "WD403"}),
}


@pytest.mark.parametrize("found, wanted", MUTANTS.values(), ids=MUTANTS)
def test_mutants_are_found(found, wanted):
    report = verify(found)
    assert wanted & {f.code for f in report.errors}, report.findings


@pytest.mark.parametrize(
    "found",
    [
        merged(stages=1, warps=1),
        merged(stages=1, warps=1, fused=True),
        merged(channel("a"), channel("b"), warps=1, fused=True),
        forked(stages=1, warps=(1, 1)),
        forked(channel, "fill", warps=(1, 1)),
    ],
)
@pytest.mark.parametrize("wrong", ["", "release", "wait", "acquire"])
def test_every_interleaving_agrees(found, wrong):
    last = found.tasks[-1]
    if wrong:
        owner = last.name if wrong != "acquire" else found.tasks[0].name
        which = [(OpKind(wrong), name) for name in (("g", "b") if wrong != "acquire" else ("a",))]
        found = dropped(found, owner, *which)
    program = unroll(found, {"k_tiles": 2}, representatives=True)
    assert disagreement(program) in ("", "capped")
    if not wrong:
        truth = explore(program)
        assert not truth.capped and not truth.deadlock and not truth.races and not truth.undetermined


# -- the document ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("found", [merged(), forked(), merged(fused=True, pipeline=Pipeline(2, "TmaAsync"))])
def test_a_group_is_stored(found):
    assert store.loads(store.dumps(found)) == found


@pytest.mark.parametrize(
    "groups, says",
    [
        ((group(MERGE, ("a", "c")),), "nothing is called 'c'"),
        ((group(MERGE, ()),), "has no members"),
        ((group(MERGE, ("a", "a")),), "is a member of g already"),
        ((group(MERGE), replace(group(MERGE), name="h")), "is a member of g already"),
        ((replace(group(MERGE), name="a"),), "is already the name of a resource"),
        ((group(MERGE, pipeline=Pipeline(0)),), "at least 1 stage"),
        ((), "nothing is called 'g'"),
    ],
)
def test_names_of_groups_refer_to_something(groups, says):
    where, what = problem(replace(merged(), pipeline_groups=groups))
    assert says in what and where


def test_a_group_takes_only_ops_of_pipelines():
    found = merged()
    assert problem(found) is None
    bad = retargeted(
        replace(found, tasks=(*found.tasks[:2], task("use", 4, 4, work("a", "read")))), "a", "g", OpKind.WORK
    )
    bad = replace(
        bad,
        tasks=tuple(
            replace(t, body=tuple(replace(n, id=f"{t.name}{i}") for i, n in enumerate(t.body)))
            for t in bad.tasks
        ),
    )
    assert "needs a resource, but 'g' is a pipeline group" in problem(bad)[1]


def test_edits_keep_groups_in_step():
    found = Rename("a", "c").apply(merged())
    assert found.pipeline_groups[0].members == ("c", "b") and problem(found) is None
    assert verify(found).verdict == "safe"
    renamed = Rename("g", "both").apply(found)
    assert renamed.pipeline_groups[0].name == "both" and verify(renamed).verdict == "safe"
    with pytest.raises(EditError, match="remove the group first"):
        Remove("c").apply(found)
    removed = Remove("g").apply(found)
    assert not removed.pipeline_groups and problem(removed) is None
    assert Add(group(FORK, ("a",))).apply(removed).pipeline_groups[0].mode is FORK


def test_findings_say_what_goes_together():
    (finding,) = pipeline_group.check(changed(merged(), "b", stages=3))
    assert finding.message == "the members of g differ in their stages"
    assert finding.actual == "2 (a) and 3 (b)"
    assert "g: Merge group of a, b" in schedule_table(merged())
