"""The whole verifier: verdict and scope, one row for one mistake, robustness, witnesses, conditions."""

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schedules import random_schedule

from warpdraft.core.document import Loop, Mbarrier, OpKind, Space
from warpdraft.core.expressions import Operation, Symbol
from warpdraft.core.findings import Severity
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    channel,
    commit,
    document,
    fence,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    release,
    ring,
    task,
    wait,
    work,
)
from warpdraft.core.report import render_report, report_json, verdict_line
from warpdraft.core.valuations import MAX_CHOICES, condition_patterns, symbol_ranges, valuations
from warpdraft.core.verify import verify


def copy(*, stop=K, consumer=True, stages=2, fenced=True, **pipeline):
    """A ring with a producer and, if wanted, its consumer."""
    use = (wait("ab"), work("ab", "read"), *((fence(),) if fenced else ()), release("ab"))
    tasks = [task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"), stop=stop))]
    tasks += [task("use", 4, 1, loop(*use, stop=stop))] if consumer else []
    return document("copy", *tasks, resources=(ring(stages=stages, **pipeline),))


class TestVerdict:
    def test_safe_says_for_what(self):
        report = verify(copy())
        assert report.verdict == "safe" and report.findings == () and report.errors == ()
        assert report.scope.kind == "all" and report.scope.trip_counts == (("k_tiles", (0, 1, 2, 3)),)
        assert report.events > 0
        assert "safe for all trip counts (fixed point at k_tiles = 3, period 1)" in verdict_line(report)

    def test_given_trip_counts(self):
        report = verify(copy(), trip_counts={"k_tiles": [2, 7], "unknown": [1]})
        assert report.scope.trip_counts == (("k_tiles", (2, 7)),)

    @pytest.mark.parametrize("stages", [1, 2, 3, 4])
    def test_no_consumer_stops_the_producer_at_the_stage_after_the_last(self, stages):
        report = verify(copy(consumer=False, stages=stages))
        (found,) = (f for f in report.findings if f.code != "WD409")  # and the copies land after the end
        assert (
            found.code == "WD302" and found.ops == ("load.01",) and found.case == (("k_tiles", stages + 1),)
        )

    def test_no_budget_is_incomplete_not_safe(self):
        report = verify(copy(), budget=0)
        assert report.verdict == report.scope.kind == "incomplete" and "budget" in report.scope.reason

    def test_errors_win_over_incompleteness(self):
        hazard = next(h for h in HAZARDS if h.code == "WD112")
        assert verify(hazard.bad, budget=0).verdict == "unsafe"

    def test_warnings_are_safe(self):
        found = verify(copy(stop=K, fenced=True))
        assert found.verdict == "safe"
        hazard = next(h for h in HAZARDS if h.code == "WD104")
        report = verify(hazard.bad)
        assert report.verdict == "safe" and report.findings[0].severity is Severity.WARNING

    def test_it_prints_nothing(self, capsys):
        verify(copy(consumer=False))
        assert capsys.readouterr() == ("", "")


class TestRows:
    def test_a_wrong_count_is_the_first_row_and_few_follow(self):
        report = verify(copy(consumer_count=7))
        assert report.findings[0].code == "WD201" and report.findings[0].expected == "1"
        assert {f.code for f in report.findings[1:]} <= {"WD301", "WD302"} and len(report.findings) == 2

    def test_other_mistakes_show_behind_a_wrong_count(self):
        codes = {f.code for f in verify(copy(consumer_count=7, fenced=False)).errors}
        assert {"WD201", "WD501"} <= codes

    def test_a_right_count_is_no_finding(self):
        assert verify(copy(consumer_count=1, producer_count=1, bytes=1024)).findings == ()

    def test_a_count_that_only_looks_wrong(self):
        left = task("left", 0, 1, mbar_arrive("ready", count=2), mbar_wait("ready"))
        right = task("right", 4, 1, mbar_wait("ready"))
        found = document("two arrivals in one", left, right, mbarriers=(Mbarrier("ready", 2),), symbols=())
        assert verify(found).findings == ()

    def test_each_finding_has_its_smallest_case_and_a_witness(self):
        report = verify(copy(consumer=False))
        assert report.findings[0].witness[-1].op == "load.01"
        assert [s.at for s in report.findings[0].witness][-1] == "k 2"


class TestPeeks:
    """A peek does not block, but what it says lets waits pass."""

    @staticmethod
    def consumer(*body):
        use = task("use", 4, 1, *body)
        load = task("load", 0, 1, loop(acquire("x"), work("x", "fill"), commit("x"), stop=2))
        return document("peek", load, use, resources=(channel("x", 1),), symbols=())

    def test_a_peek_before_its_wait(self):
        step = (op(OpKind.TRY_WAIT, "x"), wait("x"), work("x", "read"), release("x"))
        assert verify(self.consumer(loop(*step, stop=2))).findings == ()

    def test_a_peek_for_the_next_stage_in_the_tail(self):
        step = (wait("x"), work("x", "read"), release("x"), op(OpKind.TRY_WAIT, "x"))
        assert verify(self.consumer(op(OpKind.TRY_WAIT, "x"), loop(*step, stop=2))).findings == ()

    def test_one_peek_for_two_waits(self):
        step = (wait("x"), work("x", "read"), release("x"))
        report = verify(self.consumer(op(OpKind.TRY_WAIT, "x"), loop(*step, stop=2)))
        assert {"WD105", "WD401"} <= {f.code for f in report.errors}
        assert any("peek before has said yes" in note for f in report.findings for note in f.notes)


class TestStorageless:
    def test_an_engine_says_that_bytes_lie_in_shared_memory_where_no_storage_does(self):
        found = copy(fenced=False)
        bare = replace(found, resources=(replace(found.resources[0], storage=None),))
        for document_ in (found, bare):
            report = verify(document_)
            assert report.verdict == "unsafe" and [f.code for f in report.findings] == ["WD501"]


class TestCases:
    def test_two_periods_from_the_least_value(self):
        found = copy(stop=Symbol("n", 2), stages=3)
        found = replace(found, symbols=(Symbol("n", 2),))
        assert symbol_ranges(found) == {"n": tuple(range(2, 8))}

    def test_expressions_are_tried_over_their_symbols(self):
        n = Symbol("n")
        found = replace(copy(stop=Operation("*", n, 2)), symbols=(n,))
        assert verify(found).verdict == "safe"

    def test_many_symbols_stay_affordable(self):
        names = [Symbol(f"s{i}") for i in range(8)]
        tasks = [
            task(f"t{i}", i, 1, loop(acquire(f"x{i}"), work(f"x{i}", "fill"), commit(f"x{i}"), stop=s))
            for i, s in enumerate(names)
        ]
        found = document(
            "many", *tasks, resources=[channel(f"x{i}", 64) for i in range(8)], symbols=names, graph=()
        )
        assert len(valuations(found)) < MAX_CHOICES

    def test_conditions_take_constants_and_alternations(self):
        hazard = next(h for h in HAZARDS if h.code == "WD111")
        assert condition_patterns(hazard.good) == [{}]

    @pytest.mark.parametrize(("start", "stop", "step"), [(0, 0, 1), (4, 0, -1), (0, -3, 1), (0, 5, 2)])
    def test_odd_domains(self, start, stop, step):
        found = copy()
        tasks = tuple(
            replace(t, body=(replace(t.body[0], start=start, stop=stop, step=step),)) for t in found.tasks
        )
        assert verify(replace(found, tasks=tasks)).verdict == "safe"

    def test_division_by_zero_in_a_bound(self):
        for n, bad in ((Symbol("n"), True), (Symbol("n", 1), False)):
            found = replace(copy(stop=Operation("//", 8, n)), symbols=(n,))
            assert {f.code for f in verify(found).findings} == ({"WD107"} if bad else set())

    def test_an_undeclared_symbol_is_a_finding(self):
        found = replace(copy(), symbols=())
        assert {f.code for f in verify(found).errors} == {"WD107"}


class TestRobustness:
    """Whatever can be stored gets a report."""

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_any_document(self, documents, data):
        found = data.draw(documents)
        report = verify(found, budget=1)
        render_report(found, report)
        report_json(found, report)

    @pytest.mark.parametrize("number", range(150))
    def test_broken_schedules_are_explained(self, number):
        found = random_schedule(random.Random(f"explained {number}"))
        report = verify(found, trip_counts={"k_tiles": range(4)})
        assert report.verdict in ("safe", "unsafe"), report.scope.reason
        render_report(found, report)

    def test_an_empty_document(self):
        report = verify(document("nothing", symbols=()))
        assert report.verdict == "incomplete" and "no task" in report.scope.reason

    def test_counts_and_sizes_without_sense(self):
        found = copy()
        r = found.resources[0]
        for pipeline, storage in (
            (replace(r.pipeline, stages=0), r.storage),
            (replace(r.pipeline, stages=-2), replace(r.storage, bytes=-5, stages=0)),
            (replace(r.pipeline, producer_count=-3, bytes=-1), replace(r.storage, bytes=0)),
            (r.pipeline, replace(r.storage, offset=-4096)),
        ):
            verify(replace(found, resources=(replace(r, pipeline=pipeline, storage=storage),)))

    def test_warps_without_sense(self):
        found = copy()
        for warps in (0, -1, 33):
            tasks = (replace(found.tasks[0], num_warps=warps), found.tasks[1])
            assert "WD605" in {f.code for f in verify(replace(found, tasks=tasks)).errors}

    def test_registers_in_two_spaces(self):
        found = copy()
        for space in Space:
            verify(replace(found, resources=(replace(found.resources[0], space=space),)))

    def test_deep_nesting(self):
        body = (acquire("ab"), work("ab", "load"), commit("ab"))
        for i in range(40):
            body = (loop(*body, stop=1, var=f"k{i}"),)
        assert isinstance(body[0], Loop)
        found = document(
            "deep",
            task("load", 0, 1, *body),
            task("use", 4, 1, wait("ab"), work("ab", "read"), fence(), release("ab")),
            resources=(ring(),),
        )
        assert verify(found).verdict == "safe"
