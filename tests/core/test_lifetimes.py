"""Explicit init and inval of raw mbarriers (WD211): cases C21 and C41, and what must be accepted."""

from dataclasses import replace

import pytest

from warpdraft.core.document import Mbarrier, NamedBarrier, OpKind
from warpdraft.core.expressions import Symbol
from warpdraft.core.findings import Severity
from warpdraft.core.hazards.examples import (
    buffer,
    document,
    elect,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    ring,
    sync,
    task,
    work,
)
from warpdraft.core.verify import verify

PUBLISH = op(OpKind.FENCE_MBARRIER_INIT)
CLUSTER = op(OpKind.CLUSTER_SYNC)


def init(name="b", stage=None):
    return op(OpKind.MBARRIER_INIT, name, stage=stage)


def inval(name="b", stage=None):
    return op(OpKind.MBARRIER_INVAL, name, stage=stage)


def schedule(*tasks, barriers=(), resources=(), **fields):
    warps = 32 * sum(t.num_warps for t in tasks)
    return document(
        "lives",
        *tasks,
        mbarriers=barriers or (Mbarrier("b", 1),),
        barriers=(NamedBarrier("all", 1, warps),),
        resources=resources,
        symbols=(),
        **fields,
    )


def rows(document):
    return {(f.code, f.severity) for f in verify(document).findings}


ERROR, WARNING = ("WD211", Severity.ERROR), ("WD211", Severity.WARNING)
ALL = sync("all")


def handed(before, between):
    """The first warp does ``before`` and arrives; another task waits. ``between`` is done by all."""
    first = task("first", 0, 4, elect(*before), *between, elect(mbar_arrive("b")))
    return schedule(first, task("second", 4, 4, *between, mbar_wait("b")))


@pytest.mark.parametrize(
    ("before", "between", "found"),
    [
        ((init(), PUBLISH), (ALL,), set()),
        ((init(),), (ALL,), {WARNING}),  # C41 (b): within one CTA
        ((init(), PUBLISH), (), {ERROR}),  # C41 (a)
        ((init(),), (), {ERROR}),
        ((PUBLISH, init()), (ALL,), {WARNING}),  # the fence is before the init
        ((init(), init(), PUBLISH), (ALL,), {ERROR}),
        ((), (ALL,), set()),  # the prologue's
        ((), (), set()),
    ],
)
def test_others_need_a_barrier_behind_the_init_and_a_fence_before_it(before, between, found):
    assert rows(handed(before, between)) == found


def test_the_finding_names_init_and_use():
    (found,) = verify(handed((init(), PUBLISH), ())).errors
    assert found.ops == ("second.00", "first.01") and "before its init" in found.message


def test_an_init_by_every_warp_is_a_second_init():
    whole = task("first", 0, 4, init(), PUBLISH, ALL, elect(mbar_arrive("b")))
    assert ERROR in rows(schedule(whole, task("second", 4, 1, ALL, mbar_wait("b"))))


def test_who_initialises_may_use_it_at_once():
    assert rows(schedule(task("one", 0, 1, init(), mbar_arrive("b"), mbar_wait("b")))) == set()


def test_an_init_that_nobody_reaches():
    never = loop(init(), stop=0)
    assert ERROR in rows(schedule(task("one", 0, 1, never, mbar_arrive("b"), mbar_wait("b"))))


@pytest.mark.parametrize(
    ("fence", "meets", "found"),
    [((PUBLISH,), (CLUSTER,), set()), ((), (CLUSTER,), {ERROR}), ((PUBLISH,), (ALL,), {ERROR})],
)
def test_remote_use_needs_the_cluster_barrier_and_the_fence(fence, meets, found):
    """C41 (c): each CTA initialises its own, and arrives on the peer's."""
    body = (
        elect(init(), *fence),
        *meets,
        elect(op(OpKind.MBARRIER_ARRIVE, "b", ctas="peer"), mbar_wait("b")),
    )
    bad = schedule(task("all", 0, 4, *body, CLUSTER), cluster=(2, 1, 1))
    assert {row for row in rows(bad) if row[0] == "WD211"} == found


def test_a_copy_that_completes_on_it():
    def copied(*fences):
        bodies = elect(
            init(),
            *fences,
            ALL_OF_ONE,
            op(OpKind.MBARRIER_ARRIVE_EXPECT, "b", count=1024),
            LOAD,
            mbar_wait("b"),
        )
        return schedule(task("one", 0, 1, bodies), resources=(_copied(),))

    assert rows(copied(PUBLISH)) == set() and rows(copied()) == {WARNING}


ALL_OF_ONE = sync("all")
LOAD = op(OpKind.WORK, "s", work="load", args=(("full", "b"),))


def _copied():
    return replace(ring("s"), pipeline=None)


def shared(*body, stages=1):
    """C21: two barriers on the same bytes."""
    barriers = (Mbarrier("a", 1, stages, address=0), Mbarrier("b", 1, stages, address=0))
    return schedule(task("one", 0, 1, *body), barriers=barriers)


USE_A, USE_B = (mbar_arrive("a"), mbar_wait("a")), (mbar_arrive("b"), mbar_wait("b"))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ((init("a"), init("b"), *USE_B), {ERROR}),
        ((init("a"), *USE_A, inval("a"), init("b"), *USE_B), set()),
        ((init("a"), *USE_A, init("b"), *USE_B), {ERROR}),
        ((init("a"), inval("a"), *USE_A, init("b"), *USE_B), {ERROR}),  # used after its end
        ((*USE_A, *USE_B), {ERROR}),  # the prologue initialises both
        ((*USE_A, inval("a"), init("b"), *USE_B), set()),
    ],
)
def test_two_barriers_on_the_same_bytes(body, found):
    assert {row for row in rows(shared(*body)) if row[0] == "WD211"} == found


def test_barriers_side_by_side():
    barriers = (Mbarrier("a", 1, address=0), Mbarrier("b", 1, address=8))
    assert rows(schedule(task("one", 0, 1, *USE_A, *USE_B), barriers=barriers)) == set()


def test_the_inval_comes_behind_the_last_use_of_everyone():
    def ended(*between):
        first = task("first", 0, 1, mbar_arrive("b"), *between, inval())
        return schedule(first, task("second", 4, 1, mbar_wait("b"), *between))

    assert rows(ended()) == {ERROR} and rows(ended(ALL)) == set()


def test_data_in_the_bytes_of_a_barrier():
    data = buffer("s", 1024, offset=0)
    barriers = (Mbarrier("b", 1, address=64),)

    def one(*body):
        return schedule(task("one", 0, 1, *body), barriers=barriers, resources=(data,))

    use = mbar_arrive("b"), mbar_wait("b")
    fill = work("s", "fill")
    assert rows(one(*use, fill)) == {ERROR}
    assert rows(one(*use, inval(), fill)) == set()
    assert rows(one(fill, init(), *use)) == set()
    assert rows(one(init(), *use, fill, inval())) == {ERROR}


FENCED = init(), PUBLISH


def twice(between, parity=0, first=1, threads=(ALL,), last_wait=True):
    """Two lives of one barrier: a task arrives so often in the first, another waits for each."""
    opening = elect(*FENCED), ALL
    a = task(
        "a",
        0,
        1,
        *opening,
        *[x for _ in range(first) for x in (mbar_arrive("b"), sync("meet"))],
        *between("a"),
        mbar_arrive("b"),
    )
    waits = [x for i in range(first) for x in (mbar_wait("b", i % 2), sync("meet"))]
    b = task("b", 4, 1, ALL, *waits, *between("b"), *([mbar_wait("b", parity)] if last_wait else []))
    made = schedule(a, b)
    return replace(made, barriers=(*made.barriers, NamedBarrier("meet", 2, 64)))


def anew(who):
    return (ALL, *((elect(inval(), *FENCED),) if who == "a" else ()), ALL)


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_a_barrier_that_starts_anew_has_parity_0(first):
    assert rows(twice(anew, first=first)) == set()
    assert verify(twice(anew, first=first)).verdict == "safe"
    assert rows(twice(anew, parity=1, first=first)) & {
        ("WD204", Severity.ERROR),
        ("WD204", Severity.WARNING),
    } or (verify(twice(anew, parity=1, first=first)).verdict == "unsafe")


@pytest.mark.parametrize(
    "between",
    [
        # b may still look at the first life, or use the second before it is there
        lambda who: (elect(inval(), *FENCED), ALL) if who == "a" else (mbar_wait("b", 0), ALL),
        lambda who: (ALL, elect(inval(), *FENCED)) if who == "a" else (ALL,),
        lambda who: (ALL, elect(*FENCED), ALL) if who == "a" else (ALL, ALL),  # no inval
        lambda who: (ALL, elect(init(), PUBLISH, inval()), ALL) if who == "a" else (ALL, ALL),
    ],
)
def test_a_life_that_overlaps_the_next(between):
    assert ERROR in rows(twice(between))


def test_a_life_without_a_fence():
    def unfenced(who):
        return (ALL, elect(inval(), init()), ALL) if who == "a" else (ALL, ALL)

    assert rows(twice(unfenced)) == {WARNING}


def test_a_life_that_ends_with_a_copy_on_its_way():
    def body(*waited):
        steps = (
            *FENCED,
            op(OpKind.MBARRIER_ARRIVE_EXPECT, "b", count=1024),
            LOAD,
            *waited,
            inval(),
            *FENCED,
            mbar_arrive("b"),
            mbar_wait("b", 0),
        )
        return schedule(task("one", 0, 1, elect(*steps)), resources=(_copied(),))

    assert rows(body(mbar_wait("b", 0))) == set() and ERROR in rows(body())


def test_lives_in_a_loop_of_two_tasks():
    n = Symbol("n", 0)

    def tasks(*end):
        a = loop(elect(*FENCED), ALL, mbar_arrive("b"), ALL, elect(inval()), *end, stop=n)
        return task("a", 0, 1, a), task("b", 4, 1, loop(ALL, mbar_wait("b", 0), ALL, *end, stop=n))

    made = [replace(schedule(*tasks(*end)), symbols=(n,)) for end in ((), (ALL,))]
    assert [rows(d) for d in made] == [set(), set()]
    late = replace(
        schedule(tasks()[0], task("b", 4, 1, loop(ALL, ALL, mbar_wait("b", 0), stop=n))), symbols=(n,)
    )
    assert ERROR in rows(late)


def test_a_turn_of_a_barrier_that_starts_anew_is_not_decided():
    report = verify(schedule(task("one", 0, 1, init(), inval(), init(), mbar_arrive("b"), mbar_wait("b"))))
    assert report.verdict == "incomplete" and "name its parity" in report.scope.reason


def test_lives_in_loops_are_not_proved_for_all_trip_counts():
    n = Symbol("n", 0)
    body = loop(init(), mbar_arrive("b"), mbar_wait("b", 0), inval(), stop=n)
    report = verify(document("loop", task("one", 0, 1, body), mbarriers=(Mbarrier("b", 1),), symbols=(n,)))
    assert (report.verdict, report.scope.kind) == ("safe", "listed")
