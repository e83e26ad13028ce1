"""The machine program: cursors, arming, elections, representatives, footprints."""

from warpdraft.core.document import (
    AsyncGroup,
    Document,
    Engine,
    Footprint,
    Guard,
    GuardKind,
    Loop,
    NamedBarrier,
    Op,
    OpKind,
    Pipeline,
    Resource,
    Space,
    Storage,
    Task,
    Token,
    Work,
)
from warpdraft.core.expressions import Symbol
from warpdraft.core.program import EventKind
from warpdraft.core.unroll import unroll

K = Symbol("k", 0)


def ring(stages=2, **pipeline):
    works = (
        Work("load_a", "producer", footprint=Footprint("range", 0, 64)),
        Work("load_b", "producer", footprint=Footprint("range", 64, 192)),
        Work("view", "consumer", view=True, returns=("tile",)),
        Work("read", "consumer"),
    )
    return Resource("ab", Space.SMEM, Pipeline(stages, "TmaAsync", **pipeline), Storage(256, stages), works)


def loads(*names, task="load"):
    ops = [Op(f"{task}.1", OpKind.ACQUIRE, "ab")]
    ops += [Op(f"{task}.{n}", OpKind.WORK, "ab", n) for n in names]
    return (Loop(f"{task}.0", "domain", "k", (*ops, Op(f"{task}.9", OpKind.COMMIT, "ab")), 0, K),)


def events(program, kind, task):
    return [e for s in program.streams if s.task == task for e in s.events if e.kind is kind]


def test_acquire_waits_for_the_generation_before_and_arms_its_own_copies():
    document = Document("d", resources=(ring(),), tasks=(Task("load", 0, 1, loads("load_a", "load_b")),))
    program = unroll(document, {"k": 5})
    waits = events(program, EventKind.WAIT, "load")
    assert [(program.barriers[e.barrier].name, e.number) for e in waits] == [
        ("empty ab[0]", -1),
        ("empty ab[1]", -1),
        ("empty ab[0]", 0),
        ("empty ab[1]", 0),
        ("empty ab[0]", 1),
    ]
    armed = events(program, EventKind.ARRIVE_EXPECT, "load")
    assert {e.bytes for e in armed} == {256}
    assert [e.bytes for e in events(program, EventKind.ASYNC, "load")][:2] == [64, 192]


def test_two_loading_tasks_arm_their_own_bytes_and_both_count_as_arrivals():
    tasks = (
        Task("a", 0, 1, loads("load_a", task="a")),
        Task("b", 1, 1, loads("load_b", task="b")),
    )
    program = unroll(Document("d", resources=(ring(),), tasks=tasks), {"k": 1})
    assert [e.bytes for t in "ab" for e in events(program, EventKind.ARRIVE_EXPECT, t)] == [64, 192]
    assert next(b.count for b in program.barriers if b.name == "full ab[0]") == 2


def test_declared_bytes_that_differ_from_the_copies_reach_the_machine():
    tasks = (
        Task("a", 0, 1, loads("load_a", task="a")),
        Task("b", 1, 1, loads("load_b", task="b")),
    )
    program = unroll(Document("d", resources=(ring(bytes=128),), tasks=tasks), {"k": 1})
    assert sum(e.bytes for t in "ab" for e in events(program, EventKind.ARRIVE_EXPECT, t)) == 192  # 0 + 192
    program = unroll(Document("d", resources=(ring(bytes=512),), tasks=tasks), {"k": 1})
    assert sum(e.bytes for t in "ab" for e in events(program, EventKind.ARRIVE_EXPECT, t)) == 512


def consumer(*body, warps=4, **fields):
    return Task("math", 4, warps, (Loop("math.0", "domain", "k", body, 0, K),), **fields)


def test_wait_with_its_own_cursor_runs_ahead_of_release():
    body = (
        Op("math.1", OpKind.WAIT, "ab"),
        Op("math.2", OpKind.WORK, "ab", "view", results=("tile",)),
        Guard("math.3", GuardKind.EVERY, (Op("math.4", OpKind.RELEASE, "ab"),), "k", start=1),
    )
    document = Document("d", resources=(ring(advance_on_wait=True),), tasks=(consumer(*body, warps=1),))
    program = unroll(document, {"k": 4})
    names = [program.barriers[e.barrier].name for e in program.streams[0].events if e.barrier >= 0]
    assert names == [
        *(
            "full ab[0]",
            "full ab[1]",
            "empty ab[0]",
            "full ab[0]",
            "empty ab[1]",
            "full ab[1]",
            "empty ab[0]",
        ),
    ]
    assert [e.stage for e in program.streams[0].events if e.op == "math.2"] == [0, 1, 0, 1]


def test_a_view_is_read_where_its_token_is_used_by_the_engine_that_uses_it():
    acc = Resource("acc", Space.RMEM, works=(Work("mma", "producer", Engine.WGMMA, parameters=("tile",)),))
    body = (
        Op("math.1", OpKind.WAIT, "ab"),
        Op("math.2", OpKind.WORK, "ab", "view", results=("tile",)),
        Op("math.3", OpKind.WORK, "acc", "mma", args=(("tile", Token("tile")),)),
        Op("math.4", OpKind.RELEASE, "ab"),
    )
    program = unroll(Document("d", resources=(ring(), acc), tasks=(consumer(*body),)), {"k": 2})
    mma = events(program, EventKind.ASYNC, "math")
    assert mma[1].engine is Engine.WGMMA and mma[1].views == (("tile", "ab", 1),)
    read, write = mma[1].accesses
    assert not read.write and (read.high - read.low, read.stage) == (256, 1)
    assert write.write and write.space == "acc@math.w0"


def test_one_warp_of_several_is_elected_and_slices_cover_the_stage():
    smem = Resource("c", Space.SMEM, storage=Storage(128, 2), works=(Work("store", "producer"),))
    body = (
        Op("math.1", OpKind.WORK, "c", "store", stage=1),
        Op("math.2", OpKind.BARRIER_SYNC, "bar"),
        Guard("math.3", GuardKind.ELECT_WARP, (Op("math.4", OpKind.GROUP_COMMIT, "g"),), warp=2),
    )
    document = Document(
        "d",
        resources=(smem,),
        barriers=(NamedBarrier("bar", 1, 128),),
        groups=(AsyncGroup("g", Engine.BULK_STORE),),
        tasks=(consumer(*body),),
    )
    program = unroll(document, {"k": 1})
    slices = [e.accesses[0] for s in program.streams for e in s.events if e.op == "math.1"]
    assert [(a.low % 128, a.high - a.low) for a in slices] == [(0, 32), (32, 32), (64, 32), (96, 32)]
    assert [s.warp for s in program.streams if any(e.op == "math.4" for e in s.events)] == [2]
    classes = unroll(document, {"k": 1}, representatives=True).streams
    assert [s.warps for s in classes] == [(2,), (0,), (1, 3)]
    union = next(e.accesses for e in classes[2].events if e.op == "math.1")
    assert [(a.low % 128, a.high - a.low) for a in union] == [(32, 32), (96, 32)]


def test_conditions_follow_their_pattern_and_their_negation_agrees():
    body = (
        Guard("math.1", GuardKind.WHEN_TRUE, (Op("math.2", OpKind.WAIT, "ab"),), key="odd"),
        Guard("math.3", GuardKind.WHEN_FALSE, (Op("math.4", OpKind.RELEASE, "ab"),), key="odd"),
    )
    document = Document("d", resources=(ring(),), tasks=(consumer(*body, warps=1),))
    program = unroll(document, {"k": 4}, conditions={"odd": (False, True)})
    assert [e.op for e in program.streams[0].events] == ["math.4", "math.2", "math.4", "math.2"]


def test_zero_trips_and_unknown_names_make_no_events():
    body = (Op("math.1", OpKind.WAIT, "nothing"), Op("math.2", OpKind.WORK, "ab", "nothing"))
    document = Document("d", resources=(ring(),), tasks=(consumer(*body),))
    assert unroll(document, {"k": 0}).events == 0
    assert unroll(document, {"k": 3}).events == 0
