"""Long loops and symbols with a large least value: what short ones show, held against direct verification."""

import os
import random
from dataclasses import replace

import pytest
from schedules import random_schedule
from test_periodic import once, random_nest

from warpdraft.core import long_loops
from warpdraft.core.document import GuardKind, Loop, Op
from warpdraft.core.expressions import Operation, Symbol
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    channel,
    commit,
    document,
    guard,
    loop,
    release,
    task,
    work,
)
from warpdraft.core.hazards.examples import wait as take
from warpdraft.core.long_loops import LONG, Meant, first_value, generalised
from warpdraft.core.verify import verify

COUNT = 1500 if os.environ.get("WARPDRAFT_LONG") else 40


def at(found, name, value):
    """``found`` with a constant in the place of a symbol."""

    def number(e):
        if isinstance(e, Symbol):
            return value if e.name == name else e
        return e if isinstance(e, int) else Operation(e.operator, number(e.left), number(e.right))

    def node(n):
        if isinstance(n, Op):
            return n
        n = replace(n, body=tuple(map(node, n.body)))
        if isinstance(n, Loop):
            n = replace(n, start=number(n.start), stop=number(n.stop), step=number(n.step))
        return n

    tasks = tuple(replace(t, body=tuple(map(node, t.body))) for t in found.tasks)
    return replace(found, tasks=tasks, symbols=tuple(s for s in found.symbols if s.name != name))


def directly(found, values):
    """The verdict of running ``found`` at k_tiles in ``values``, and a few tiles."""
    tiles = {"tiles": range(5)} if any(s.name == "tiles" for s in found.symbols) else {}
    return verify(found, trip_counts={"k_tiles": values} | tiles)


def agree(report, truth):
    if report.scope.kind == "all" or report.verdict == "unsafe":
        assert report.verdict == truth.verdict, (report.scope, report.findings[:1], truth.findings[:1])
        assert {f.code for f in report.errors} <= {f.code for f in truth.errors}
    return report.scope.kind == "all"


@pytest.fixture
def low(monkeypatch):
    """Loops count as long early, so that running them is cheap."""
    monkeypatch.setattr(long_loops, "LONG", 8)
    monkeypatch.setattr(long_loops, "NEAR", 3)


@pytest.mark.usefixtures("low")
class TestAgainstDirectVerification:
    @pytest.mark.parametrize("make", [random_schedule, random_nest])
    def test_constants(self, make):
        rng, proved = random.Random(make.__name__), 0
        for _ in range(COUNT):
            found, trips = make(rng), rng.randint(9, 16)
            proved += agree(verify(at(found, "k_tiles", trips)), directly(found, [trips]))
        assert proved > COUNT // 30

    @pytest.mark.parametrize("make", [random_schedule, random_nest])
    def test_least_values(self, make):
        rng, proved = random.Random(make.__name__), 0
        for _ in range(COUNT):
            found, least = make(rng), rng.randint(9, 16)
            raised = replace(
                found,
                symbols=tuple(replace(s, min=least if s.name == "k_tiles" else s.min) for s in found.symbols),
            )
            proved += agree(verify(raised), directly(raised, range(least, least + 4)))
        assert proved > COUNT // 30


class TestLong:
    def test_a_large_least_value_is_the_case_that_is_named(self):
        body = (take("x"), release("x"), guard(GuardKind.EVERY, work("x", "read"), period=4, start=3))
        low = Symbol("k_tiles", 4096)
        report = verify(replace(once(consumer=(loop(*body),)), symbols=(low,)))
        run = [f for f in report.errors if f.witness]
        assert run and {f.case for f in run} == {(("k_tiles", 4096),)}

    def test_what_goes_wrong_below_the_least_value_does_not_matter(self):
        """A peeled iteration: with none at all, the consumer waits for what nobody sends."""
        peeled = (take("x"), work("x", "read"), release("x"))
        rest = loop(*peeled, stop=Operation("-", K, 1))
        found = once(consumer=(*peeled, rest), symbols=(replace(K, min=0),))
        assert verify(found).verdict == "unsafe"
        report = verify(replace(found, symbols=(replace(K, min=1000),)))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope
        assert not report.findings
        constant = verify(at(found, "k_tiles", 1000))
        assert (constant.verdict, constant.scope.kind, constant.scope.trip_counts) == ("safe", "all", ())

    def test_only_the_right_remainder_is_asked_for(self):
        """Two tasks that agree only at multiples of three."""
        fill = loop(
            acquire("x"), work("x", "fill"), commit("x"), stop=Operation("*", Operation("//", K, 3), 3)
        )
        found = once(producer=(fill,))
        assert verify(at(found, "k_tiles", 3000)).verdict == "safe"
        assert verify(at(found, "k_tiles", 3001)).verdict == "unsafe"

    def test_loops_of_related_lengths(self):
        one = (acquire("x"), work("x", "fill"), commit("x"))
        use = (take("x"), work("x", "read"), release("x"))
        found = document(
            "halves",
            task("load", 0, 1, loop(*one, *one, stop=30_000), *one),
            task("use", 4, 1, *use, loop(*use, *use, *use, stop=20_000)),
            resources=(channel("x", 3),),
        )
        report = verify(found)
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope
        short = replace(found, tasks=(found.tasks[0], replace(found.tasks[1], body=found.tasks[1].body[1:])))
        assert verify(short).verdict == "unsafe"

    def test_an_error_in_a_loop_too_long_to_run(self):
        report = verify(
            once(consumer=(loop(take("x"), work("x", "read"), release("x"), stop=10**7 + 1),), stop=10**7)
        )
        assert report.verdict == "unsafe" and {f.code for f in report.errors} == {"WD302"}
        assert all(f.case == () for f in report.errors)


class TestParts:
    def test_short_loops_stay(self):
        found = once(stop=LONG)
        assert generalised(found) == (found, {})

    def test_what_is_meant(self):
        assert 7 not in Meant(8, exactly=True) and 9 not in Meant(8, exactly=True) and 9 in Meant(8)
        assert Meant(4096).like(7, 4) == 4099 and Meant(4096).like(5000, 4) == 5000

    def test_where_to_start(self):
        late = loop(acquire("x"), stop=Operation("-", K, 1000))
        assert first_value([late], "k_tiles", Meant(4096), 4) == 1004
        assert first_value([late], "k_tiles", Meant(1003), 4) == 1003
        assert first_value([late], "k_tiles", Meant(0), 4) == 0
