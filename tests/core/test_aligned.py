"""WD220: what a warp executes together stands below no election of a lane, and no condition that lanes have peeked for."""

import pytest

from warpdraft.core.document import Engine, GuardKind, NamedBarrier, OpKind, Resource, Space, Storage, Work
from warpdraft.core.hazards.examples import (
    MMA,
    STORE,
    accumulator,
    acquire,
    buffer,
    channel,
    commit,
    document,
    group_commit,
    group_wait,
    guard,
    loop,
    op,
    release,
    task,
    wait,
    work,
)
from warpdraft.core.verify import verify

TENSOR = Resource(
    "t",
    Space.TMEM,
    storage=Storage(64),
    works=(Work("load", "consumer", Engine.TCGEN05_LD), Work("store", "producer", Engine.TCGEN05_ST)),
)
TOGETHER = [
    op(OpKind.BARRIER_SYNC, "meet"),
    op(OpKind.BARRIER_ARRIVE, "meet"),
    op(OpKind.CLUSTER_SYNC),
    op(OpKind.SYNC_WARP),
    op(OpKind.WGMMA_FENCE),
    op(OpKind.TCGEN05_WAIT_LD),
    op(OpKind.TCGEN05_WAIT_ST),
    op(OpKind.TMEM_ALLOC, "t"),
    op(OpKind.TMEM_DEALLOC, "t"),
    op(OpKind.TMEM_RELINQUISH),
    op(OpKind.REGISTERS_DECREASE, count=24),
    group_commit("mma_group"),
    group_wait("mma_group"),
    work("acc", "mma", tile="x"),
    work("t", "load"),
    work("t", "store"),
]
APART = [  # one thread may execute these
    op(OpKind.FENCE_PROXY_ASYNC),
    op(OpKind.TCGEN05_FENCE_AFTER),
    group_commit("store_group"),
    group_wait("store_group", read=True),
    work("s", "read"),
]


def schedule(*body, warps=4):
    return document(
        "aligned",
        task("a", 0, warps, *body),
        resources=(accumulator(), TENSOR, buffer("s")),
        barriers=(NamedBarrier("meet", 1, 32 * warps),),
        groups=(MMA, STORE),
        symbols=(),
        target="sm_100a",
    )


def found(made):
    return [f for f in verify(made).errors if f.code == "WD220"]


@pytest.mark.parametrize("step", TOGETHER, ids=lambda o: o.work or o.kind.value)
def test_what_takes_the_whole_warp(step):
    assert len(found(schedule(guard(GuardKind.ELECT_LANE, step)))) == 1
    inside = guard(GuardKind.ELECT_LANE, loop(step, stop=2))
    assert len(found(schedule(guard(GuardKind.ELECT_WARP, inside)))) == 1
    assert not found(schedule(step)) and not found(schedule(guard(GuardKind.ELECT_WARP, step)))


@pytest.mark.parametrize("step", APART, ids=lambda o: o.work or o.kind.value)
def test_what_one_lane_may_do(step):
    assert not found(schedule(guard(GuardKind.ELECT_LANE, step)))


@pytest.mark.parametrize("kind", [GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE])
@pytest.mark.parametrize("peeked", [True, False])
def test_a_condition_that_each_lane_has_peeked_for(kind, peeked):
    peek = op(OpKind.TRY_WAIT, "x", results=("full",))
    step = guard(kind, op(OpKind.SYNC_WARP), token="full" if peeked else "", key="" if peeked else "full")
    made = document(
        "peeked",
        task("a", 0, 1, acquire("x"), work("x", "fill"), commit("x")),
        task("b", 4, 1, peek, step, wait("x"), work("x", "read"), release("x")),
        resources=(channel("x"),),
        symbols=(),
    )
    assert bool(found(made)) is peeked
