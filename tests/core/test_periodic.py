"""Proofs for all trip counts, held against direct verification at larger ones."""

import os
import random
from dataclasses import replace

import pytest
from schedules import random_schedule

from warpdraft.assets.examples import gemm, persistent_gemm, tma_copy
from warpdraft.core import periodic
from warpdraft.core.clocks import Execution
from warpdraft.core.document import GuardKind, Mbarrier, Op, Signal
from warpdraft.core.expressions import Operation, Symbol, evaluate
from warpdraft.core.growth import grows
from warpdraft.core.hazards.examples import (
    MMA,
    STORE,
    K,
    accumulator,
    acquire,
    buffer,
    channel,
    commit,
    document,
    fence,
    group_commit,
    group_wait,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    output,
    release,
    ring,
    task,
    tiles,
    wait,
    work,
)
from warpdraft.core.machine import Machine
from warpdraft.core.report import verdict_line
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

SCHEDULES = 240
LONG = 4_000
COUNT = LONG if os.environ.get("WARPDRAFT_LONG") else SCHEDULES
UNHURRIED = 600  # seconds: what is proved must not depend on what else the machine does
N = Symbol("n")
T = Symbol("tiles")


def once(*, producer=(), consumer=(), stages=2, stop=K, **fields):
    """A producer and a consumer of one ring."""
    fill = producer or (loop(acquire("x"), work("x", "fill"), commit("x"), stop=stop),)
    use = consumer or (loop(wait("x"), work("x", "read"), release("x"), stop=stop),)
    return document(
        "ring",
        task("load", 0, 1, *fill),
        task("use", 4, 1, *use),
        resources=(channel("x", stages),),
        **fields,
    )


def random_nest(rng: random.Random):
    """A persistent schedule, tiles of k loops, right or with mistakes anywhere; cursors, guards and tails vary."""
    stages = rng.choice((1, 2, 2, 3))
    lag = rng.random() < 0.4 and stages > 1
    signal = rng.choice((None, Signal.WARP, Signal.THREAD))
    fields = {} if signal is None else {"consumer_signal": signal}
    ab = rng.choice((ring, channel))("ab", stages, advance_on_wait=lag, **fields)
    fill = [work("ab", "load")] if any(w.name == "load" for w in ab.works) else [work("ab", "fill"), fence()]
    step = [
        wait("ab"),
        work("ab", "tile", result="t"),
        work("acc", "mma", tile="t"),
        group_commit("mma_group"),
    ]
    if lag:
        step += [group_wait("mma_group", 1), guard(GuardKind.EVERY, release("ab"), period=1, start=1)]
        tail = [group_wait("mma_group", 0), release("ab")]
    else:
        step += [group_wait("mma_group", 0), release("ab")]
        tail = []
    if rng.random() < 0.3:
        step.append(guard(rng.choice((GuardKind.FIRST_ITER, GuardKind.LAST_ITER)), work("acc", "read")))
    if rng.random() < 0.2:
        step.append(guard(GuardKind.EVERY, fence(), period=rng.choice((2, 3)), start=rng.choice((0, 1))))
    hand = [acquire("out_ring"), work("out_ring", "fill"), commit("out_ring")]
    write = [wait("out_ring"), work("out_ring", "read"), release("out_ring")]
    stops = K, K, Operation("+", K, 1), Operation("*", K, 2), *(() if lag else (Operation("//", K, 2),))
    k_stop, least = rng.choice(stops), 1 if lag else rng.choice((0, 1))
    nested = [loop(*step, stop=k_stop), *tail, *hand]
    inner_fill = [loop(acquire("ab"), *fill, commit("ab"), stop=k_stop)]
    if rng.random() < 0.7:
        bodies = [[tiles(*b, stop=T)] for b in (inner_fill, nested, write)]
        symbols = (replace(K, min=least), T)
    else:
        bodies, symbols = [inner_fill, nested, write], (replace(K, min=least),)
    tasks = [
        task(n, 4 * i, w, *b)
        for i, (n, w, b) in enumerate(zip(("load", "math", "out"), (1, 4, 1), bodies, strict=True))
    ]
    found = document(
        "nest",
        *tasks,
        resources=(ab, accumulator(), channel("out_ring", rng.choice((1, 2))), buffer("scratch"), output()),
        groups=(MMA, STORE),
        symbols=symbols,
    )
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        found = shaken(found, rng)
    return found


def shaken(found, rng):
    """One node somewhere deleted, doubled, or moved by one place."""
    bodies = []

    def walk(node, path):
        if not isinstance(node, Op):
            bodies.append(path)
            for i, child in enumerate(node.body):
                walk(child, (*path, i))

    place = rng.randrange(len(found.tasks))
    walk(found.tasks[place], ())
    path = rng.choice(bodies)

    def changed(node, rest):
        body = list(node.body)
        if rest:
            body[rest[0]] = changed(body[rest[0]], rest[1:])
            return replace(node, body=tuple(body))
        if not body:
            return node
        i = rng.randrange(len(body))
        match rng.randrange(3):
            case 0:
                del body[i]
            case 1 if isinstance(body[i], Op):
                body.insert(i, replace(body[i], id=body[i].id + "b"))
            case 2:
                j = min(i + 1, len(body) - 1)
                body[i], body[j] = body[j], body[i]
        return replace(node, body=tuple(body))

    new = changed(found.tasks[place], path)
    return replace(found, tasks=(*found.tasks[:place], new, *found.tasks[place + 1 :]))


def larger(report, rng):
    """Trip counts beyond those that were run, multiples of nothing in particular."""
    tried = dict(report.scope.trip_counts)
    if len(tried) <= 1:
        return {n: [max(v) + i for i in (*range(1, 9), 13, 22, 31, 50)] for n, v in tried.items()}
    return {n: [max(v) + i for i in rng.sample(range(1, 14), 3)] + [rng.choice(v)] for n, v in tried.items()}


def check(found, rng):
    """Whether a proof was reached; it must hold further out."""
    report = verify(found, budget=UNHURRIED)
    if report.scope.kind != "all" or not report.scope.trip_counts:
        return False
    further = verify(found, trip_counts=larger(report, rng), budget=UNHURRIED)
    assert further.verdict == "safe" == report.verdict, (further.findings[:1], report.scope)
    assert {f.code for f in further.findings} <= {f.code for f in report.findings}
    return True


@pytest.mark.timeout(7200 if os.environ.get("WARPDRAFT_LONG") else 600)  # by the clock, on a busy machine
class TestAgainstDirectVerification:
    def test_loops(self):
        rng = random.Random("loops")
        proved = sum(check(random_schedule(rng), rng) for _ in range(COUNT))
        assert proved >= COUNT // 10

    def test_nests(self):
        rng = random.Random("nests")
        proved = sum(check(random_nest(rng), rng) for _ in range(COUNT // 2))
        assert proved > COUNT // 20


class TestProved:
    @pytest.mark.parametrize("example", [tma_copy, gemm, persistent_gemm])
    def test_the_examples(self, example):
        report = verify(example.build().document)
        assert (report.verdict, report.scope.kind) == ("safe", "all")
        assert "for all trip counts (fixed point at " in verdict_line(report)

    @pytest.mark.parametrize("stages", range(1, 8))
    def test_rings(self, stages):
        report = verify(once(stages=stages))
        assert report.scope.kind == "all" and max(dict(report.scope.trip_counts)["k_tiles"]) <= 2 * stages + 3

    def test_constants_alone(self):
        report = verify(once(stop=40, symbols=()))
        assert (report.verdict, report.scope.kind, report.scope.trip_counts) == ("safe", "all", ())

    @pytest.mark.parametrize(
        ("start", "stop", "step", "fields"),
        [
            (1, K, 1, {}),
            (0, K, 3, {}),
            (2, Operation("*", K, 2), 2, {}),
            (0, Operation("ceil_div", K, 4), 1, {}),
            (0, Operation("%", K, 3), 1, {}),
        ],
    )
    def test_bounds(self, start, stop, step, fields):
        bodies = (acquire("x"), work("x", "fill"), commit("x")), (wait("x"), work("x", "read"), release("x"))
        fill, use = (loop(*b, start=start, stop=stop, step=step, **fields) for b in bodies)
        found = once(producer=(fill,), consumer=(use,))
        assert check(found, random.Random(0)), verify(found).scope

    def test_loops_over_two_symbols_in_a_row(self):
        found = document(
            "two loops",
            task("load", 0, 1, *(loop(acquire("x"), work("x", "fill"), commit("x"), stop=s) for s in (K, N))),
            task("use", 4, 1, *(loop(wait("x"), work("x", "read"), release("x"), stop=s) for s in (K, N))),
            resources=(channel("x"),),
            symbols=(K, N),
        )
        assert verify(found).scope.kind == "all"
        far = verify(found, trip_counts={"k_tiles": [0, 7, 20], "n": [1, 8, 31]})
        assert far.verdict == "safe"

    def test_guards_with_periods_of_their_own(self):
        body = (
            wait("x"),
            work("x", "read"),
            release("x"),
            guard(GuardKind.EVERY, work("x", "read"), period=3, start=2),
        )
        odd = once(consumer=(loop(*body),))
        assert verify(odd).verdict == "unsafe"  # it reads what it has given back
        fine = (
            wait("x"),
            work("x", "read"),
            guard(GuardKind.EVERY, work("x", "read"), period=3, start=2),
            release("x"),
        )
        report = verify(once(consumer=(loop(*fine),)))
        assert report.scope.kind == "all" and "period 3" in report.scope.reason

    def test_a_mistake_far_out_is_found(self):
        """Every seventh iteration, from the twentieth on, reads once more after the release."""
        body = (
            wait("x"),
            work("x", "read"),
            release("x"),
            guard(GuardKind.EVERY, work("x", "read"), period=7, start=20),
        )
        report = verify(once(consumer=(loop(*body),)))
        assert report.verdict == "unsafe" and report.errors[0].case == (("k_tiles", 22),)


class TestListed:
    """What is not proved says so, and why."""

    @pytest.mark.parametrize(
        ("stop", "why"),
        [
            (Operation("min", K, 100), "changes its growth beyond 64"),
            (Operation("*", K, N), "together"),
            (Operation("+", K, N), "together"),
            (Operation("-", 50, K), "shorter"),
        ],
    )
    def test_bounds(self, stop, why):
        report = verify(once(stop=stop, symbols=(K, N)))
        assert report.verdict == "safe" and report.scope.kind == "listed" and why in report.scope.reason

    def test_conditions(self):
        when = [
            guard(GuardKind.WHEN_TRUE, *b, key="c")
            for b in (
                (acquire("x"), work("x", "fill"), commit("x")),
                (wait("x"), work("x", "read"), release("x")),
            )
        ]
        report = verify(once(producer=(loop(when[0]),), consumer=(loop(when[1]),)))
        assert report.verdict == "safe" and report.scope.kind == "all"
        assert "all sequences of iterations" in report.scope.reason
        inner = [loop(loop(x), stop=N, var="n") for x in when]  # decided anew in an inner loop
        report = verify(once(producer=inner[:1], consumer=inner[1:], symbols=(K, N)))
        assert report.verdict == "safe" and report.scope.kind == "all"
        assert "every outcome of c" in report.scope.reason

    def test_given_trip_counts(self):
        assert verify(once(), trip_counts={"k_tiles": [3]}).scope.kind == "listed"

    def test_too_many_given_are_incomplete(self):
        many = {"k_tiles": range(40), "n": range(40)}
        found = document(
            "two rings",
            *(
                task(f"t{i}", i, 1, loop(acquire(r), work(r, "fill"), commit(r), stop=s))
                for i, (r, s) in enumerate((("x", K), ("y", N)))
            ),
            *(
                task(f"u{i}", i + 4, 1, loop(wait(r), work(r, "read"), release(r), stop=s))
                for i, (r, s) in enumerate((("x", K), ("y", N)))
            ),
            resources=(channel("x"), channel("y")),
            symbols=(K, N),
        )
        assert verify(found).scope.kind == "all"
        report = verify(found, trip_counts=many)
        assert report.verdict == "incomplete" and "1,024 combinations" in report.scope.reason


class TestSmallestCase:
    def test_two_symbols_that_should_be_one(self):
        found = once(
            producer=(loop(acquire("x"), work("x", "fill"), commit("x"), stop=N),),
            symbols=(K, N),
        )
        found = verify(found)
        starved = next(f for f in found.errors if f.code == "WD302")
        assert dict(starved.case) == {"k_tiles": 1, "n": 0}

    def test_a_parity_that_restarts_with_each_tile(self):
        """Right if the loop runs a multiple of twice the stages (here: one stage, two phases)."""
        flip = [mbar_arrive("ready"), mbar_wait("taken", parity=None)]
        two = (
            mbar_wait("ready", parity=0),
            mbar_arrive("taken"),
            mbar_wait("ready", parity=1),
            mbar_arrive("taken"),
        )
        bars = (Mbarrier("ready", 1), Mbarrier("taken", 1))

        def tile(*last):
            return document(
                "reset",
                task(
                    "load", 0, 1, loop(*flip, *flip, *flip[: 2 * bool(last)], stop=T, kind="tile", var="tile")
                ),
                task("use", 4, 1, loop(*two, *last, stop=T, kind="tile", var="tile")),
                mbarriers=bars,
                symbols=(T,),
            )

        assert verify(tile()).scope.kind == "all" and verify(tile()).verdict == "safe"
        broken = verify(tile(mbar_wait("ready", parity=0), mbar_arrive("taken")))
        assert broken.verdict == "unsafe" and broken.errors[0].case == (("tiles", 2),)


class TestParts:
    @pytest.mark.parametrize(
        ("expression", "expected"),
        [
            (K, (1, 1)),
            (7, (1, 0)),
            (N, (1, 0)),
            (Operation("//", K, 4), (4, 1)),
            (Operation("ceil_div", Operation("*", K, 6), 4), (2, 3)),
            (Operation("%", K, 6), (6, 0)),
            (Operation("-", Operation("*", 3, K), Operation("//", K, 2)), (2, 5)),
        ],
    )
    def test_growth_of_a_bound(self, expression, expected):
        assert grows(expression, "k_tiles") == (*expected, 0)
        if isinstance(expression, Operation):
            p, s = expected
            for x in range(30):
                assert evaluate(expression, {"k_tiles": x + p}) == evaluate(expression, {"k_tiles": x}) + s

    def test_every_field_of_an_execution_is_looked_at(self):
        """Whoever adds state to an execution must say in `core.frontier` what a later step can tell of it."""
        program = unroll(Machine(once(stop=2, symbols=())), {})
        execution = Execution(program)
        known = "at base groups state inside parked passed landing cumul last before log waits parities races fenced"
        known += " commits notes fencing allocations maps ahead waited"
        settled = "program deadline n weight channel irregular order incidents seen unobserved stopped ready"
        settled += " cluster joined unfinished exits_order requests increases"  # of registers: not in loops
        assert set(vars(execution)) == {*known.split(), *settled.split()}
        races = "write reads use bounds plans planned pieces gates proxied outside execution found unfenced misread"
        races += " tensor held maps owners places crossed apart copying"
        assert set(vars(execution.races)) == set(races.split())

    def test_the_limits_are_said(self):
        assert periodic.EVENTS > 0 and periodic.TOP >= 4
