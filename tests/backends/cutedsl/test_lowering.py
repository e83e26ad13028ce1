"""Each kind of op, loop and guard, on small schedules made of plain values."""

import importlib.util
from dataclasses import replace

import pytest

from warpdraft.backends.cutedsl import LoweringError, compile_module, lower
from warpdraft.core.document import (
    AsyncGroup,
    Document,
    Engine,
    Guard,
    GuardKind,
    Kernel,
    Loop,
    Mbarrier,
    NamedBarrier,
    Op,
    OpKind,
    Pipeline,
    Resource,
    Signal,
    Space,
    Storage,
    Task,
    Tensor,
    Token,
    Work,
)
from warpdraft.core.expressions import ceil_div, symbol

M, N, STEPS, TILES = symbol("M"), symbol("N"), symbol("steps"), symbol("tiles")
COPY = (("tensor", "a"), ("tile", (64, 64)), ("coords", ("m", "n")))
RING = Resource(
    "ring",
    Space.SMEM,
    Pipeline(2),
    Storage(8192, 2),
    (
        Work("fill", "producer", Engine.TMA, parameters=("m", "n"), body="sm90.tma_load", params=COPY),
        Work("seen", "consumer", view=True, returns=("seen",)),
    ),
)
OUT = Resource(
    "out",
    works=(
        Work(
            "put",
            "producer",
            Engine.BULK_STORE,
            parameters=("m", "n"),
            body="sm90.bulk_store",
            params=(("tensor", "b"), *COPY[1:]),
        ),
    ),
)
WHERE = Resource(
    "where",
    works=(
        Work("at", "consumer", body="sm90.tile_coords", returns=("coord_m", "coord_n", "coord_k")),
        Work("odd", "consumer", body="sm90.tile_coords", returns=("coord_x",)),
    ),
)
QUEUE = Resource(
    "queue",
    Space.QUEUE,
    works=(Work("init_work_tile", "consumer"), Work("get_and_advance_work_tile", "consumer")),
)


def op(id: str, kind: OpKind, target: str = "", **more) -> Op:
    return Op(id, kind, target, **more)


def work(id: str, target: str, name: str, **more) -> Op:
    return Op(id, OpKind.WORK, target, name, **more)


FILL = work("p.fill", "ring", "fill", args=(("m", 0), ("n", 0)))


def document(*tasks: Task, **more) -> Document:
    kernel = Kernel(
        "k",
        tensors=(Tensor("a", (M, N), "fp16", (0, 1)), Tensor("b", (M, N), "fp16", (0, 1), "out")),
        parameters=(("tile", (64, 64)),),
        trip_counts=(("steps", ceil_div(N, 64)),),
        grid=ceil_div(M, 64) * ceil_div(N, 64),
        reference="copy",
    )
    fields = {
        "name": "sketch",
        "resources": (RING, OUT, WHERE, QUEUE),
        "barriers": (NamedBarrier("meet", 3, 64),),
        "mbarriers": (Mbarrier("go", stages=2),),
        "groups": (AsyncGroup("stores", Engine.BULK_STORE), AsyncGroup("old", Engine.CP_ASYNC)),
        "kernel": kernel,
    }
    return Document(**(fields | more), tasks=tasks)


def one(*body, warps: int = 1, **more) -> Document:
    """A document with one task on warps from 0."""
    return document(Task("p", 0, warps, body), **more)


def lines(made: Document) -> list[str]:
    """The module's lines, stripped."""
    return [line.strip() for line in lower(made).splitlines()]


def tagged(made: Document, op: str) -> list[str]:
    return [line for line in lines(made) if line.endswith(f"# op {op}") or f"# op {op}:" in line]


def test_cursor_moves_where_the_document_says():
    plain = one(op("p.1", OpKind.ACQUIRE, "ring"), FILL, op("p.2", OpKind.COMMIT, "ring"))
    assert tagged(plain, "p.1") == [
        'op.acquire("p.1", ring, ring_fill, 0)  # op p.1',
        'op.arm("p.1", ring.full + ring_fill.index, 8192, 0)  # op p.1',
    ]
    assert tagged(plain, "p.2") == ["ring_fill.advance()  # op p.2"]
    split = replace(RING, pipeline=Pipeline(2, advance_on_acquire=True))
    ahead = one(*plain.tasks[0].body, resources=(split, OUT, WHERE, QUEUE))
    assert "ring_filled = ring_acquire.index" in lines(ahead)
    assert "ring_acquire.advance()" in lines(ahead)
    assert tagged(ahead, "p.2") == ["ring_commit.advance()  # op p.2"]


@pytest.mark.parametrize(
    "signal, warps, expected",
    [
        (Signal.WARP, 2, "arrive"),
        (Signal.THREAD, 2, "arrive_threads"),
        (Signal.LEADER, 2, "if arrive"),
        (Signal.LEADER_THREADS, 2, "if arrive_threads"),
        (Signal.LEADER, 1, "arrive"),
    ],
)
def test_arrivals_follow_the_signal(signal, warps, expected):
    ring = replace(RING, pipeline=Pipeline(2, consumer_signal=signal))
    made = one(op("p.1", OpKind.RELEASE, "ring"), warps=warps, resources=(ring,))
    found = lines(made)
    at = next(i for i, line in enumerate(found) if line.endswith("# op p.1"))
    method = expected.removeprefix("if ")
    assert found[at] == f'op.{method}("p.1", ring.empty + ring_read.index, 0)  # op p.1'
    assert (found[at - 1] == "if warp_idx == 0:") == expected.startswith("if ")


def test_copies_and_arming_by_the_first_of_several_warps():
    made = one(op("p.1", OpKind.ACQUIRE, "ring"), FILL, op("p.2", OpKind.COMMIT, "ring"), warps=2)
    found = lines(made)
    for tag in ('op.arm("p.1"', "op.tma_load("):
        at = next(i for i, line in enumerate(found) if line.startswith(tag))
        assert found[at - 1] == "if warp_idx == 0:"


def test_raw_mbarriers():
    made = one(
        op("p.1", OpKind.MBARRIER_ARRIVE, "go", count=2),
        op("p.2", OpKind.MBARRIER_EXPECT, "go", count=64, stage=1),
        op("p.3", OpKind.MBARRIER_ARRIVE_EXPECT, "go", count=32, stage=1),
        op("p.4", OpKind.MBARRIER_WAIT, "go", stage=1),
        op("p.5", OpKind.MBARRIER_WAIT, "go", count=1),
    )
    assert tagged(made, "p.1") == ['op.arrive_count("p.1", go, 2, 0)  # op p.1']
    assert tagged(made, "p.2") == ['op.expect_only("p.2", go + 1, 64, 0)  # op p.2']
    assert tagged(made, "p.3") == ['op.expect("p.3", go + 1, 32, 0)  # op p.3']
    assert tagged(made, "p.4") == ['op.wait_parity("p.4", go + 1, go_1_parity, 0)  # op p.4']
    assert "go_1_parity = go_1_parity ^ 1" in lines(made)
    assert tagged(made, "p.5") == ['op.wait_parity("p.5", go, 1, 0)  # op p.5']
    assert "go = barriers + 4" in lines(made)  # behind full and empty of the ring


def test_guards():
    def guarded(kind: GuardKind, **more) -> list[str]:
        guard = Guard("p.g", kind, (op("p.1", OpKind.SYNC_WARP),), **more)
        found = lines(one(Loop("p.l", "domain", "k", (guard,), stop=STEPS), warps=4))
        at = next(i for i, line in enumerate(found) if line.endswith("# op p.1"))
        return [line for line in found[at - 2 : at] if line.startswith("if ")]

    assert guarded(GuardKind.FIRST_ITER, loop="k") == ["if k == 0:"]
    assert guarded(GuardKind.LAST_ITER, loop="k") == ["if k == steps - 1:"]
    assert guarded(GuardKind.EVERY, loop="k") == []
    assert guarded(GuardKind.EVERY, loop="k", start=1) == ["if k >= 1:"]
    assert guarded(GuardKind.EVERY, loop="k", period=2) == ["if k % 2 == 0:"]
    assert guarded(GuardKind.EVERY, loop="k", period=3, start=1) == ["if k >= 1:", "if (k - 1) % 3 == 0:"]
    assert guarded(GuardKind.ELECT_WARP, warp=2) == ["if warp_idx == 2:"]
    assert guarded(GuardKind.ELECT_LANE) == []
    assert guarded(GuardKind.SKIPPABLE) == []


def test_loops_and_steps():
    inner = Loop("p.2", "domain", "j", (op("p.3", OpKind.SYNC_WARP),), start=1, stop=9, step=2)
    made = one(Loop("p.1", "domain", "k", (inner, op("p.4", OpKind.SYNC_WARP)), stop=STEPS, unroll=2))
    found = lines(made)
    assert "for k in cutlass.range(steps, unroll=2):" in found
    assert "for j in cutlass.range(cute.ceil_div(8, 2), unroll=1):" in found
    assert "j_value = 1 + j * 2" in found
    assert "step = k * cute.ceil_div(8, 2) + j" in found
    assert tagged(made, "p.3") == ['op.sync_warp("p.3", step)  # op p.3']
    assert tagged(made, "p.4") == ['op.sync_warp("p.4", k)  # op p.4']


def test_two_tile_loops_go_on_where_the_first_stopped():
    advance = (work("p.2", "queue", "get_and_advance_work_tile"),)
    body = [Loop(f"p.{i}", "tile", "tile", advance, stop=TILES, queue="queue") for i in (1, 3)]
    found = lines(one(*body))
    assert found.count("for turn in cutlass.range(turns, unroll=1):  # tiles of queue") == 1
    assert "for turn_2 in cutlass.range(turns, unroll=1):  # tiles of queue" in found
    assert found.count("tile = tile + blocks  # op p.2") == 2


def test_tokens_that_outlive_their_loop_are_declared_before_it():
    loop = Loop(
        "p.1", "domain", "k", (work("p.2", "where", "at", results=("row", "_", "column")),), stop=STEPS
    )
    use = work("p.3", "ring", "fill", args=(("m", Token("row")), ("n", Token("column"))))
    found = lines(one(loop, use))
    assert {"row = Int32(0)", "column = Int32(0)", "row, column = m, k  # op p.2"} <= set(found)


def test_views_note_the_stage():
    see = work("p.2", "ring", "seen", results=("seen",))
    put = work("p.4", "out", "put", args=(("view", Token("seen")), ("m", 1), ("n", 2)))
    made = one(op("p.1", OpKind.WAIT, "ring"), see, op("p.3", OpKind.RELEASE, "ring"), put)
    assert tagged(made, "p.2") == ["seen = ring_read.index  # op p.2: stage of ring"]
    stored = tagged(made, "p.4")[0]
    assert stored == ('op.bulk_store("p.4", tma_b, b_stages[None, seen], b_tiles[None, 1, 2], 0)  # op p.4')


def test_named_barriers_and_groups():
    made = one(
        op("p.1", OpKind.BARRIER_ARRIVE, "meet"),
        op("p.2", OpKind.BARRIER_SYNC, "meet"),
        op("p.3", OpKind.GROUP_COMMIT, "stores"),
        op("p.4", OpKind.GROUP_WAIT, "stores", count=2),
        op("p.5", OpKind.TRY_WAIT, "ring"),
        op("p.6", OpKind.TRY_ACQUIRE, "ring"),
    )
    assert tagged(made, "p.1") == ['op.sync_arrive("p.1", 3, 64, 0)  # op p.1']
    assert tagged(made, "p.2") == ['op.sync("p.2", 3, 64, 0)  # op p.2']
    assert tagged(made, "p.3") == ['op.commit_store("p.3", 0)  # op p.3']
    assert tagged(made, "p.4") == ['op.wait_store("p.4", 2, 0)  # op p.4']
    assert tagged(made, "p.5") == ['op.try_wait("p.5", ring, ring_read, 0)  # op p.5']
    assert tagged(made, "p.6") == ['op.try_acquire("p.6", ring, ring_fill, 0)  # op p.6']


def test_registers_in_mid_schedule():
    less, more = OpKind.REGISTERS_DECREASE, OpKind.REGISTERS_INCREASE
    made = one(op("p.1", less, count=40), op("p.2", OpKind.SYNC_WARP), op("p.3", more, count=232), warps=4)
    assert tagged(made, "p.1") == ["cute.arch.setmaxregister_decrease(40)  # op p.1"]
    assert tagged(made, "p.3") == ["cute.arch.setmaxregister_increase(232)  # op p.3"]
    for refused, text in (
        (one(op("p.1", less, count=40)), "whole warpgroups"),
        (one(op("p.1", less), warps=4), "a number"),
    ):
        with pytest.raises(LoweringError, match=text):
            lower(refused)


def test_warps_and_registers():
    tasks = (
        Task("p", 0, 1, (op("p.1", OpKind.SYNC_WARP),), num_registers=40),
        Task("q", 1, 2, (op("q.1", OpKind.SYNC_WARP),)),
        Task("r", 8, 6, (op("r.1", OpKind.SYNC_WARP),), num_registers=232),
    )
    found = lines(document(*tasks))
    branches = found[
        found.index("if warp_idx < 4:") : found.index("@cute.jit", found.index("if warp_idx < 4:"))
    ]
    assert [line for line in branches if line.endswith(":") or "register" in line or line == "# no task"] == [
        "if warp_idx < 4:",
        "cute.arch.setmaxregister_decrease(40)",
        "if warp_idx == 0:",
        "if warp_idx >= 1:",
        "if warp_idx < 3:",
        "elif warp_idx < 8:",
        "# no task",
        "else:",
        "cute.arch.setmaxregister_increase(232)",
        "if warp_idx < 14:",
    ]
    assert "grid=(cute.ceil_div(M, 64) * cute.ceil_div(N, 64), 1, 1)," in found
    assert "block=(512, 1, 1)," in found


@pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="the CuTe DSL is not installed")
def test_a_bit_of_everything_compiles():
    ring = replace(RING, pipeline=Pipeline(2, consumer_signal=Signal.LEADER_THREADS))
    every = Guard("p.g", GuardKind.EVERY, (op("p.6", OpKind.RELEASE, "ring"),), "k", period=2, start=1)
    elected = Guard("p.e", GuardKind.ELECT_WARP, (every,), warp=1)  # the other warp moves the cursor
    inner = (
        work("p.1", "where", "at", results=("row", "column", "k_tile")),
        op("p.2", OpKind.TRY_WAIT, "ring"),
        op("p.3", OpKind.WAIT, "ring"),
        work("p.4", "ring", "seen", results=("seen",)),
        work("p.5", "out", "put", args=(("v", Token("seen")), ("m", Token("row")), ("n", Token("k_tile")))),
        elected,
        Guard("p.h", GuardKind.ELECT_WARP, (op("p.7", OpKind.MBARRIER_WAIT, "go"),), warp=1),
    )
    loop = Loop("p.l", "domain", "k", inner, start=1, stop=STEPS)
    after = work("p.8", "out", "put", args=(("v", Token("seen")), ("m", Token("row")), ("n", 0)))
    tile = Loop(
        "p.t",
        "tile",
        "tile",
        (loop, after, work("p.9", "queue", "get_and_advance_work_tile")),
        stop=TILES,
        queue="queue",
    )
    fill = (op("q.1", OpKind.ACQUIRE, "ring"), replace(FILL, id="q.2"), op("q.3", OpKind.COMMIT, "ring"))
    made = document(
        Task("p", 0, 2, (tile, op("p.10", OpKind.MBARRIER_ARRIVE, "go", count=2)), num_registers=64),
        Task("q", 2, 3, fill, num_registers=64),
        resources=(ring, OUT, WHERE, QUEUE),
    )
    compiled = compile_module(lower(made))
    assert "mbarrier.try_wait.parity" in compiled.ptx
    assert "setmaxnreg.dec.sync.aligned.u32 	64" in compiled.ptx


FILL_AT_X = replace(FILL, args=(("m", Token("x")), ("n", 0)))
ERRORS = {
    "no kernel": (one(kernel=None), "tensors and sizes"),
    "target": (one(target="sm_80"), "sm_80"),
    "cluster along K": (one(cluster=(1, 1, 2)), "clusters along K"),
    "unknown resource": (one(op("p.1", OpKind.WAIT, "nothing")), "p.1: there is no resource 'nothing'"),
    "no pipeline": (one(op("p.1", OpKind.WAIT, "out")), "p.1: out has no pipeline"),
    "unknown work": (one(work("p.1", "ring", "empty")), "p.1: ring has no work 'empty'"),
    "unknown coordinate": (one(work("p.1", "where", "odd", results=("x",)), FILL_AT_X), "coord_x"),
    "missing coordinate": (one(op("p.1", OpKind.ACQUIRE, "ring"), replace(FILL, args=())), "'m' is missing"),
    "early token": (one(FILL_AT_X), "nothing has made 'x'"),
    "cp.async": (one(op("p.1", OpKind.GROUP_COMMIT, "old")), "p.1: group_commit of cp_async group 'old'"),
    "unknown barrier": (one(op("p.1", OpKind.BARRIER_SYNC, "x")), "p.1: there is no named barrier 'x'"),
    "unknown mbarrier": (one(op("p.1", OpKind.MBARRIER_WAIT, "x")), "p.1: there is no mbarrier 'x'"),
    "condition": (one(Guard("p.1", GuardKind.WHEN_TRUE, (), key="c")), "p.1: no stock body makes"),
    "stray guard": (one(Guard("p.1", GuardKind.FIRST_ITER, (), "k")), "outside its loop 'k'"),
    "never": (one(Loop("p.l", "domain", "k", (Guard("p.1", GuardKind.EVERY, (), "k", period=0),), stop=2)), "never"),
    "predicate": (one(Loop("p.1", "tile", "t", (), stop=TILES, queue="queue", skip_if="odd")), "'odd'"),
    "warp": (one(Guard("p.1", GuardKind.ELECT_WARP, (), warp=4), warps=4), "has no warp 4"),
    "size": (one(Loop("p.1", "domain", "k", (op("p.2", OpKind.SYNC_WARP),), stop=symbol("x"))), "what 'x' is"),
    "registers": (document(Task("p", 0, 1, (), num_registers=40), Task("q", 1, 1, (), num_registers=48)), "agree"),
    "queue": (one(work("p.1", "queue", "init_work_tile"), resources=(replace(QUEUE, works=()),)), "no work"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_lowered_says_why(name):
    made, message = ERRORS[name]
    with pytest.raises(LoweringError) as error:
        lower(made)
    assert message in str(error.value)


def changed_work(**more) -> Document:
    fill = replace(RING.works[0], **more)
    return one(FILL, resources=(replace(RING, works=(fill,)), OUT))


@pytest.mark.parametrize(
    "made, message",
    [
        (changed_work(body=""), "ring.fill has no body; stock bodies are sm90.a"),
        (changed_work(body="sm90.magic"), "body 'sm90.magic' is not one of"),
        (changed_work(params=COPY[:1]), "parameter 'tile' is missing"),
        (changed_work(params=(*COPY[:1], ("tile", (64, 0)), COPY[2])), "must be 2 positive integers"),
        (changed_work(params=(*COPY[:2], ("coords", ("m",)))), "must be 2 or 3 names"),
        (changed_work(params=(("tensor", "z"), *COPY[1:])), "no tensor 'z'"),
        (changed_work(params=(*COPY, ("part", "left"))), "has no part 'left'"),
        (
            changed_work(params=(COPY[0], ("tile", (32, 64)), COPY[2])),
            "are 4096 bytes; a stage of ring has 8192",
        ),
    ],
)
def test_a_stock_body_reads_its_parameters_strictly(made, message):
    with pytest.raises(LoweringError) as error:
        lower(made)
    assert message in str(error.value)
    assert error.value.op == "p.fill"
