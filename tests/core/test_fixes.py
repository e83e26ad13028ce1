"""Fixes: those of the flagship example, where they are put, and how long they may take."""

import json

import pytest

from warpdraft.assets.examples import broken_early_release, persistent_gemm
from warpdraft.core.document import GuardKind
from warpdraft.core.fixes import applied, fixes_for, with_fixes
from warpdraft.core.hazards.examples import (
    MMA,
    accumulator,
    acquire,
    commit,
    document,
    group_commit,
    group_wait,
    guard,
    loop,
    release,
    ring,
    task,
    wait,
    work,
)
from warpdraft.core.report import render_report, report_json
from warpdraft.core.tables import schedule_table
from warpdraft.core.verify import verify


@pytest.fixture(scope="module")
def broken():
    found = broken_early_release.build().document
    return found, verify(found)


def test_the_release_and_its_guard_move_behind_the_wait(broken):
    schedule, report = broken
    (finding,) = report.errors
    fixes = fixes_for(schedule, finding, before=report)
    assert fixes[0].title == "release smem_ab after math.09"
    for fix in fixes:
        assert verify(applied(schedule, fix)).verdict == "safe"
    assert phrases(applied(schedule, fixes[0])) == phrases(persistent_gemm.build().document)


def phrases(schedule):
    """The lines of its table without the ids in front."""
    return [line[line.find(" ") :].strip() for line in schedule_table(schedule).splitlines()]


def test_they_are_in_the_report_and_its_json(broken):
    schedule, report = broken
    found = with_fixes(schedule, report)
    assert "= help: release smem_ab after math.09" in render_report(schedule, found)
    (fix, *_) = json.loads(json.dumps(report_json(schedule, found)))["findings"][0]["fixes"]
    assert fix["edits"][0]["is"] == "MoveNode" and fix["edits"][0]["id"] == "math.07"


def test_no_time_no_fixes(broken):
    schedule, report = broken
    assert all(f.fixes == () for f in with_fixes(schedule, report, seconds=0).findings)


def test_without_a_wait_behind_it_one_is_put_in_front():
    use = (
        wait("ab"),
        work("ab", "tile", result="t"),
        work("acc", "mma", tile="t"),
        group_commit("mma_group"),
    )
    schedule = document(
        "no wait",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task(
            "math", 4, 4, loop(*use, guard(GuardKind.EVERY, release("ab"), loop="k")), group_wait("mma_group")
        ),
        resources=(ring(), accumulator()),
        groups=(MMA,),
    )
    finding = next(f for f in verify(schedule).errors if f.code == "WD403")
    titles = [fix.title for fix in fixes_for(schedule, finding)]
    assert titles[0] == "wait for all of mma_group before ab is released"
