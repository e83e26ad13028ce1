"""The end of a task that waits for all its stages, what is only assumed of works, and what no document can hold."""

from dataclasses import replace

import pytest
from kit import K, build, codes, finding, ring, role

from warpdraft.core import domain_loop, fence_proxy_async, to_python, verify
from warpdraft.core.document import OpKind
from warpdraft.core.equality import equal_schedules
from warpdraft.core.report import report_json, verdict_line
from warpdraft.core.tree import ops_of


def schedule(releases=True, tail=True, stages=2, trips=K, **options):
    x = ring("x", stages)

    def load():
        with domain_loop(0, trips):
            x.acquire()
            x.load()
            x.commit()
        if tail:
            x.producer_tail(**options)

    def use():
        with domain_loop(0, trips) as k:
            x.wait()
            x.read()
            fence_proxy_async()
            if releases:
                x.release()
            else:
                with k.every(1, start=1):
                    x.release()

    return build(role("load", 0, 1, load, [], [x]), role("use", 4, 1, use, [x]))


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_all_released(stages):
    report = verify(schedule(stages=stages))
    assert "WD218" not in {f.code for f in report.findings} and not report.errors
    assert report.scope.kind == "all"


def test_the_last_release_is_left_out():
    found = finding(schedule(False, trips=4), "WD218")
    assert found.severity == "error" and set(found.tasks) == {"load", "use"}
    assert "WD218" not in codes(schedule(False, tail=False, trips=4))


def test_a_tail_on_the_producer_s_own_warp_waits_for_ever():
    x = ring("x", 2)

    def both():
        with domain_loop(0, 2):
            x.acquire()
            x.load()
            x.commit()
        x.producer_tail()
        with domain_loop(0, 2):
            x.wait()
            x.read()
            x.release()

    assert verify(build(role("both", 0, 1, both, [x], [x]))).verdict == "unsafe"


def test_what_a_run_time_adds_is_no_part_of_the_schedule():
    explicit, implicit, none = (
        schedule(),
        schedule(implicit=True),
        schedule(tail=False),
    )
    assert equal_schedules(implicit, none) and not equal_schedules(explicit, none)
    assert [o.implicit for o in ops_of(implicit.tasks[0]) if o.kind is OpKind.PRODUCER_TAIL] == [True]
    written = {}
    exec(to_python(implicit), written)
    again = written["build"]().document
    assert [o.implicit for o in ops_of(again.tasks[0])] == [o.implicit for o in ops_of(implicit.tasks[0])]


def unfenced(**fields):
    """Threads read and release without a fence before copies refill the stage; facts of the work that reads."""
    document = schedule()
    use = document.tasks[1]
    loop = use.body[0]
    body = tuple(o for o in loop.body if o.kind is not OpKind.FENCE_PROXY_ASYNC)
    works = tuple(replace(w, **fields) if w.name == "read" else w for w in document.resources[0].works)
    return replace(
        document,
        resources=(replace(document.resources[0], works=works),),
        tasks=(document.tasks[0], replace(use, body=(replace(loop, body=body),))),
    )


def test_fences_of_what_is_assumed_are_part_of_the_hypothesis():
    assert finding(unfenced(), "WD501").severity == "error"
    report = verify(unfenced(assumed=True))
    assert report.verdict == "safe" and report.scope.defaults == ("x.read",)


def assuming(document, *names):
    ring = document.resources[0]
    works = tuple(replace(w, assumed=w.name in names) for w in ring.works)
    return replace(document, resources=(replace(ring, works=works), *document.resources[1:]))


def test_a_verdict_names_the_works_whose_accesses_are_assumed():
    document = assuming(schedule(), "load", "tile")  # nobody calls tile
    report = verify(document)
    assert report.scope.defaults == ("x.load",) and report_json(document, report)["scope"]["defaults"] == [
        "x.load"
    ]
    assert "safe for all trip counts" in verdict_line(report)
    assert ", assuming defaults for 1 work (x.load)" in verdict_line(report)
    assert "assuming" not in verdict_line(verify(schedule()))
    assert "assumed=True" in to_python(document)


def test_what_no_document_can_hold_makes_a_verdict_incomplete():
    document = replace(schedule(), gaps=("predicates of one's own are not known",))
    report = verify(document)
    assert report.verdict == "incomplete" and "predicates of one's own" in report.scope.reason
    written = {}
    exec(to_python(document), written)
    assert written["build"]().document.gaps == document.gaps
