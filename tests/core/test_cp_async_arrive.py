"""cp.async copies that arrive on mbarriers: who counts, what a wait knows, which fence is enough."""

from dataclasses import replace

import pytest

from warpdraft.core import PipelineConfig, Signal
from warpdraft.core.authoring.enums import PipelineOp, PipelineType
from warpdraft.core.document import (
    Engine,
    GuardKind,
    Mbarrier,
    OpKind,
    Pipeline,
    Resource,
    Space,
    Storage,
    Work,
)
from warpdraft.core.hazards.examples import (
    MMA,
    accumulator,
    acquire,
    commit,
    document,
    fence,
    group_commit,
    group_wait,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    release,
    task,
    wait,
    work,
)
from warpdraft.core.raw_counts import derived_raw_count
from warpdraft.core.stepper import Stepper
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

WORKS = (
    Work("copy", "producer", Engine.CP_ASYNC),
    Work("read", "consumer"),
    Work("tile", "consumer", view=True),
)
HOLD, COUNTED = (op(kind, "ready") for kind in (OpKind.CP_ASYNC_ARRIVE, OpKind.CP_ASYNC_ARRIVE_NOINC))


def codes(doc):
    return {f.code for f in verify(doc).errors}


def ring(signal, **pipeline):
    return Resource("x", Space.SMEM, Pipeline(2, producer_signal=signal, **pipeline), Storage(1024, 2), WORKS)


def once(*order, count=None, others=()):
    tile = Resource("tile", Space.SMEM, storage=Storage(1024), works=WORKS)
    return document(
        "copies once",
        task("load", 0, 1, work("tile", "copy"), *order),
        *others,
        task("use", 8, 1, mbar_wait("ready"), work("tile", "read")),
        resources=(tile,),
        mbarriers=(Mbarrier("ready", count),),
        symbols=(),
    )


def channel(signal, **pipeline):
    return document(
        "copies in a ring",
        task("load", 0, 4, loop(acquire("x"), work("x", "copy"), commit("x"))),
        task("use", 4, 4, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(ring(signal, **pipeline),),
    )


def test_a_ring_whose_copies_arrive_is_proved():
    report = verify(channel(Signal.CP_ASYNC))
    assert report.findings == () and report.scope.kind == "all"


@pytest.mark.parametrize("signal", [None, Signal.THREAD, Signal.WARP])
def test_an_ordinary_arrival_says_nothing_of_copies(signal):
    assert codes(channel(signal)) == {"WD401"}


def test_every_thread_is_counted():
    assert verify(channel(Signal.CP_ASYNC, producer_count=128)).findings == ()
    found = [f for f in verify(channel(Signal.CP_ASYNC, producer_count=4)).errors if f.code == "WD201"]
    assert found and found[0].expected == "128"


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ((HOLD, mbar_arrive("ready")), set()),
        ((COUNTED,), set()),
        ((COUNTED, mbar_arrive("ready")), set()),
        ((mbar_arrive("ready"), HOLD), {"WD401"}),  # the phase is over when it begins to hold
        ((mbar_arrive("ready"),), {"WD401"}),
        ((HOLD,), {"WD302"}),  # counts nothing
    ],
)
def test_both_forms(order, expected):
    assert codes(once(*order)) == expected


def test_one_lane_speaks_for_its_own_copies():
    """PTX ISA: those "initiated by the executing thread"."""
    doc = once(guard(GuardKind.ELECT_LANE, COUNTED))
    assert derived_raw_count(doc, "ready") == 1 and codes(doc) == {"WD401"}
    assert derived_raw_count(once(COUNTED), "ready") == 32


def test_a_phase_is_held_only_in_front_of_an_arrival_of_it():
    go = task("go", 4, 1, mbar_arrive("ready"))
    assert "WD221" in codes(once(HOLD, others=(go,)))
    first = task("go", 4, 1, mbar_wait("held"), mbar_arrive("ready"))
    doc = once(HOLD, mbar_arrive("held"), others=(first,))
    assert codes(replace(doc, mbarriers=(*doc.mbarriers, Mbarrier("held")))) == set()


def test_copies_behind_an_arrival_are_not_spoken_for():
    assert codes(once(COUNTED, work("tile", "copy"))) == {"WD401"}


@pytest.mark.parametrize(
    ("producer", "consumer", "expected"), [(0, 0, {"WD501"}), (1, 0, {"WD501"}), (0, 1, set())]
)
def test_the_proxy_fence_of_copies_comes_behind_the_wait(producer, consumer, expected):
    """A fence in front of the arrival comes before the copies are done."""
    doc = document(
        "wgmma of copies",
        task("load", 0, 4, loop(acquire("x"), work("x", "copy"), *[fence()] * producer, commit("x"))),
        task(
            "use",
            4,
            4,
            loop(
                wait("x"),
                *[fence()] * consumer,
                work("x", "tile", result="t"),
                work("acc", "mma", tile="t"),
                group_commit("mma_group"),
                group_wait("mma_group"),
                release("x"),
            ),
        ),
        resources=(ring(Signal.CP_ASYNC), accumulator()),
        groups=(MMA,),
    )
    report = verify(doc)
    assert {f.code for f in report.errors} == expected
    assert expected or report.scope.kind == "all"


@pytest.mark.parametrize(
    ("nbytes", "times", "bad"),
    [(1 << 19, 1, False), (1 << 19, 2, True), ((1 << 20) - 1, 1, False), (1 << 20, 1, True)],
)
def test_bytes_of_a_phase_stay_in_range(nbytes, times, bad):
    expects = [op(OpKind.MBARRIER_EXPECT, "r", count=nbytes)] * times
    doc = document(
        "bytes", task("a", 0, 1, *expects, mbar_arrive("r")), mbarriers=(Mbarrier("r"),), symbols=()
    )
    assert ("WD221" in codes(doc)) is bad


def test_the_stepper_holds_the_phase():
    stepper = Stepper(unroll(once(HOLD, mbar_arrive("ready")), {}))
    state = stepper.start
    for _ in range(3):
        state = stepper.step(
            state, next(m for m in stepper.moves(state) if m.stream == 0 and m.flight is None)
        )
    assert state.barriers[0].completed == 0 and state.barriers[0].pending == 32
    while ends := [m for m in stepper.moves(state) if m.flight]:
        assert not any(m.stream == 1 for m in stepper.moves(state))
        state = stepper.step(state, ends[0])
    assert state.barriers[0].completed == 1


def test_task_scheduling_says_it_with_the_producer_op():
    config = PipelineConfig(2, pipeline_type=PipelineType.AsyncAsync, async_producer_op=PipelineOp.AsyncLoad)
    assert config.record().producer_signal is Signal.CP_ASYNC
    assert PipelineConfig(2, pipeline_type=PipelineType.AsyncAsync).record().producer_signal is None
