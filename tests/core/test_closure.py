"""Proofs for all outcomes of conditions, held against runs under long patterns."""

import os
import random
from dataclasses import replace
from time import perf_counter

import pytest
from schedules import random_schedule
from test_clusters import shared_ring
from test_periodic import once, random_nest

from warpdraft.assets.regenerate import path_of
from warpdraft.core.closure import Closure
from warpdraft.core.document import Guard, GuardKind, Loop, Mbarrier, OpKind
from warpdraft.core.expressions import Symbol
from warpdraft.core.growth import growth_of
from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    release,
    task,
    tiles,
    wait,
    work,
)
from warpdraft.core.hazards.misreads import filled
from warpdraft.core.joints import joint_loops
from warpdraft.core.machine import Machine
from warpdraft.core.run import execute
from warpdraft.core.store import load
from warpdraft.core.verify import verify

K, T = Symbol("k_tiles"), Symbol("tiles")
COUNT = 1500 if os.environ.get("WARPDRAFT_LONG") else 24
FILL = acquire("x"), work("x", "fill"), commit("x")
READ = wait("x"), work("x", "read"), release("x")


def when(*body, key="c", kind=GuardKind.WHEN_TRUE):
    return guard(kind, *body, key=key)


def conditional(found, rng, inside=False):
    """``found`` with a condition around whole iterations of its outer loops (``inside``: of loops in these, where there are
    any), now and then not in all tasks."""
    keys = ("c",) if rng.random() < 0.7 else ("c", "d")
    skip = rng.random() < 0.3
    forget = rng.random() < 0.15

    def node(n):
        if not isinstance(n, Loop):
            return n
        if forget and rng.random() < 0.4:
            return n
        if inside and any(isinstance(x, Loop) for x in n.body):
            return replace(n, body=tuple(map(node, n.body)))
        if skip and n.kind == "tile":
            inner = Guard(f"{n.id}.g", GuardKind.SKIPPABLE, n.body)
            return replace(n, skip_if="c", body=(inner,))
        body = n.body
        for key in keys:
            body = (Guard(f"{n.id}.{key}", GuardKind.WHEN_TRUE, body, key=key),)
        return replace(n, body=body)

    return replace(found, tasks=tuple(replace(t, body=tuple(map(node, t.body))) for t in found.tasks))


def check(found, rng):
    """Whether all outcomes were proved; long patterns must then be fine too."""
    report = verify(found)
    if report.scope.kind != "all":
        return False
    machine, tried = Machine(found), dict(report.scope.trip_counts)
    for _ in range(6):
        values = {
            n: max(v) + rng.randint(1, 7) if rng.random() < 0.7 else rng.choice(v) for n, v in tried.items()
        }
        patterns = {k: [rng.random() < 0.5 for _ in range(rng.randint(3, 17))] for k in ("c", "d")}
        run = execute(machine, values, patterns)
        assert report.verdict == "safe"
        misread = [m for m in run.execution.races.misread.values() if m.read.access.resource in filled(found)]
        assert run.clean and not misread, (values, patterns, run.execution.incidents)
    return True


@pytest.mark.timeout(7200 if os.environ.get("WARPDRAFT_LONG") else 600)  # by the clock, on a busy machine
class TestAgainstLongPatterns:
    @pytest.mark.parametrize(
        ("make", "inside"), [(random_schedule, False), (random_nest, False), (random_nest, True)]
    )
    def test_random_schedules(self, make, inside):
        rng = random.Random(make.__name__)
        proved = sum(check(conditional(make(rng), rng, inside), rng) for _ in range(COUNT))
        assert proved > COUNT // 12


class TestProved:
    @pytest.mark.parametrize("stages", range(1, 6))
    def test_a_ring_under_a_condition(self, stages):
        found = once(producer=(loop(when(*FILL)),), consumer=(loop(when(*READ)),), stages=stages)
        report = verify(found)
        assert (report.verdict, report.scope.kind) == ("safe", "all")
        assert f"{stages + 1} states" in report.scope.reason

    def test_two_conditions(self):
        one, two = (loop(when(*body, when(*body, key="d"))) for body in (FILL, READ))
        assert verify(once(producer=(one,), consumer=(two,))).scope.kind == "all"

    def test_first_and_last_iterations(self):
        def body(*ops):
            return loop(when(*ops), guard(GuardKind.LAST_ITER, *ops), guard(GuardKind.FIRST_ITER, *ops))

        report = verify(once(producer=(body(*FILL),), consumer=(body(*READ),)))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope

    def test_tiles_with_loops_inside(self):
        """Tiles that are skipped, and loops over k in those that are not."""
        fill, read = (tiles(when(loop(*body), key="work"), stop=T) for body in (FILL, READ))
        report = verify(once(producer=(fill,), consumer=(read,), symbols=(K, T)))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope
        assert "k_tiles = 3" in report.scope.reason and "3 states" in report.scope.reason

    @pytest.mark.parametrize("stop", [K, 4])
    def test_conditions_in_inner_loops(self, stop):
        """Decided anew in each iteration, in loops of any length and of a constant one."""
        inner, outer = (lambda *b: when(*b, key="d")), (lambda *b: when(*b, key="e"))
        for around in (loop, lambda *b, **more: inner(loop(*b, **more))):
            fill, read = (
                tiles(around(when(*body), stop=stop), outer(*body), stop=T) for body in (FILL, READ)
            )
            report = verify(once(producer=(fill,), consumer=(read,), symbols=(K, T) if stop is K else (T,)))
            assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope
            assert "every outcome" in report.scope.reason and "e in each of" in report.scope.reason

    def test_first_and_last_iterations_of_inner_loops(self):
        def body(*ops):
            ends = guard(GuardKind.LAST_ITER, *ops), guard(GuardKind.FIRST_ITER, *ops)
            return tiles(loop(when(*ops), *ends), stop=T)

        report = verify(once(producer=(body(*FILL),), consumer=(body(*READ),), symbols=(K, T)))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope

    def test_loops_in_blocks(self):
        """One warp of two runs the loop that decides."""
        fill, read = (
            guard(GuardKind.ELECT_WARP, loop(when(*b), guard(GuardKind.LAST_ITER, when(*b, key="d"))), warp=0)
            for b in (FILL, READ)
        )
        report = verify(once(producer=(fill,), consumer=(read,)))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope

    def test_two_loops_that_decide(self):
        fill, read = ((loop(when(*b)), loop(when(*b, key="d"), stop=T)) for b in (FILL, READ))
        report = verify(once(producer=fill, consumer=read, symbols=(K, T)))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope

    @pytest.mark.parametrize("number", [5, 8])
    def test_many_conditions(self, number):
        """One inside the other: of 2 ** n outcomes, n + 1 differ."""

        def nest(body):
            for key in "abcdefgh"[:number]:
                body = (when(*body, key=key),)
            return tiles(loop(*body), stop=T)

        report = verify(once(producer=(nest(FILL),), consumer=(nest(READ),), symbols=(K, T)))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope

    @pytest.mark.parametrize("inside", [False, True])
    def test_clusters(self, inside):
        """Conditions come out alike in all CTAs, as the scope says; the cluster's barrier at the end and under one."""
        found = replace(shared_ring(), symbols=(K, T) if inside else (K,))

        def tests(n):
            if not isinstance(n, Loop):
                return n
            body = (*n.body, op(OpKind.CLUSTER_SYNC)) if not inside else n.body
            deciding = replace(n, body=(Guard(f"{n.id}.c", GuardKind.WHEN_TRUE, body, key="c"),))
            return replace(n, id=f"{n.id}.t", var="t", stop=T, body=(deciding,)) if inside else deciding

        found = replace(found, tasks=tuple(replace(t, body=tuple(map(tests, t.body))) for t in found.tasks))
        report = verify(found)
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope
        assert "a condition at run time comes out alike in all CTAs of a cluster" in report.scope.assumed
        forgets = replace(found, tasks=(found.tasks[0], shared_ring().tasks[1]))
        assert verify(replace(forgets, symbols=found.symbols)).verdict == "unsafe"

    def test_a_condition_outside_of_loops(self):
        report = verify(once(producer=(when(*FILL),), consumer=(when(*READ),)))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope

    def test_loops_of_constant_length(self):
        for stop in (3, 5000):
            found = once(
                producer=(loop(when(*FILL), stop=stop),), consumer=(loop(when(*READ), stop=stop),), symbols=()
            )
            assert (verify(found).verdict, verify(found).scope.kind) == ("safe", "all")


class TestNotProved:
    def test_a_condition_that_one_task_forgets(self):
        report = verify(once(producer=(loop(when(*FILL)),), consumer=(loop(*READ),)))
        assert report.verdict == "unsafe"

    @pytest.mark.parametrize(
        ("consumer", "why"),
        [
            (tiles(loop(when(*READ))), "inner loop"),
            (loop(when(*READ), stop=7), "different lengths"),
        ],
    )
    def test_loops_that_do_not_fit(self, consumer, why):
        report = verify(once(producer=(loop(when(*FILL)),), consumer=(consumer,)))
        assert report.scope.kind != "all"
        if report.verdict == "safe":
            assert why in report.scope.reason

    def test_a_release_that_comes_too_early_in_an_inner_loop(self):
        late = wait("x"), release("x"), work("x", "read")
        fill, read = (tiles(loop(when(*body)), stop=T) for body in (FILL, late))
        assert verify(once(producer=(fill,), consumer=(read,), symbols=(K, T))).verdict == "unsafe"

    def test_an_inner_ring_that_only_some_patterns_leave_out_of_step(self):
        """The consumer skips what the producer filled when two conditions differ."""
        fill, read = tiles(loop(when(*FILL)), stop=T), tiles(loop(when(*READ, key="d")), stop=T)
        assert verify(once(producer=(fill,), consumer=(read,), symbols=(K, T))).verdict == "unsafe"

    def test_waits_at_the_cluster_that_only_some_patterns_repeat(self):
        """The arrival of the iteration before may have been waited for, or not."""
        body = when(op(OpKind.CLUSTER_ARRIVE)), when(op(OpKind.CLUSTER_WAIT), key="d")
        halves = (task(name, at, 1, loop(*body)) for name, at in (("a", 0), ("b", 4)))
        found = document("halves", *halves, symbols=(K,), cluster=(2, 1, 1), graph=())
        assert verify(found).verdict == "unsafe"

    def test_a_parity_that_holds_only_once(self):
        """A wait on parity 0 means the second phase when the condition comes true again, and passes too early."""
        found = once(
            producer=(loop(when(work("x", "read"), mbar_arrive("b"))),),
            consumer=(loop(when(mbar_wait("b", parity=0))),),
            mbarriers=(Mbarrier("b", 1),),
        )
        assert verify(found).verdict == "unsafe"


class TestStates:
    """The graph itself."""

    def explore(self, found):
        machine = Machine(found)
        growth = growth_of(machine)
        joints = joint_loops(machine, growth)
        runs = []
        closure = Closure(
            machine, growth, joints, {}, lambda run, _: not runs.append(run), perf_counter() + 20
        )
        closure.explore()
        return closure, runs

    def test_each_state_ends_once_for_each_way_into_it(self):
        closure, runs = self.explore(once(producer=(loop(when(*FILL)),), consumer=(loop(when(*READ)),)))
        assert closure.states == 3 and len(runs) == 1 + 2 * closure.states
        assert all(run.clean for run in runs)

    def test_runs_are_those_of_the_unroller(self):
        """What is put together from pieces is what a whole run does."""
        body = (
            when(*FILL),
            guard(GuardKind.LAST_ITER, *FILL),
            guard(GuardKind.EVERY, *FILL, period=2, start=1),
        )
        use = when(*READ), guard(GuardKind.LAST_ITER, *READ), guard(GuardKind.EVERY, *READ, period=2, start=1)
        found = once(producer=(*FILL, loop(*body), *FILL), consumer=(*READ, loop(*use), *READ))
        _, runs = self.explore(found)
        assert len(runs) > 10
        for run in runs:
            whole = execute(Machine(found), dict(run.case), dict(run.conditions))
            assert [s.events for s in whole.program.streams] == [s.events for s in run.program.streams]
            assert whole.execution.base == run.execution.base
            assert whole.execution.state == run.execution.state


def two_rings(*, late=False):
    """One task fills a ring for each of two others, one loop after the other."""
    fills = [loop(acquire(n), work(n, "fill"), commit(n)) for n in ("x", "y")]
    uses = [
        loop(wait(n), release(n), work(n, "read")) if late else loop(wait(n), work(n, "read"), release(n))
        for n in ("x", "y")
    ]
    return document(
        "two rings",
        task("load", 0, 1, tiles(*fills, stop=T)),
        task("first", 4, 1, tiles(uses[0], stop=T)),
        task("second", 8, 1, tiles(uses[1], stop=T)),
        resources=(channel("x"), channel("y", 3)),
        symbols=(K, T),
    )


class TestTeams:
    """Loops that signal each other are cut together, whichever loop of its task each one is."""

    def test_a_ring_for_each_of_two_tasks(self):
        report = verify(two_rings())
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope
        assert verify(two_rings(late=True)).verdict == "unsafe"

    def test_ping_pong(self):
        report = verify(load(path_of("ping_pong")))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope

    def test_numbers(self):
        growth = growth_of(Machine(two_rings()))
        first, second = (growth.loops[x.id].team for x in two_rings().tasks[0].body[0].body)
        teams = [growth.loops[t.body[0].body[0].id].team for t in two_rings().tasks[1:]]
        assert teams == [first, second] and first != second
        every = [growth.number(growth.loops[i], n) for i in growth.loops for n in range(3)]
        assert len(set(every)) == 3 * len({g.team for g in growth.loops.values()})
