"""One mistake is one row, and a row for the hang that it makes: what follows is named, not listed."""

from dataclasses import replace
from functools import partial

import pytest

from warpdraft.core.document import GuardKind, Mbarrier, OpKind
from warpdraft.core.findings import Finding, Severity
from warpdraft.core.fixes import fixes_for
from warpdraft.core.folding import folded
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    fence,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    queue,
    release,
    ring,
    task,
    tiles,
    wait,
    work,
)
from warpdraft.core.verify import verify

# independent hazards that a bad example really has besides its own
BESIDE = {
    "WD105": {"WD401", "WD410"},
    "WD106": {"WD403"},
    "WD109": {"WD410"},
    "WD113": {"WD210"},
    "WD114": {"WD210"},
    "WD207": {"WD105", "WD203"},  # its stage is armed twice: the bracket is not closed
    "WD210": {"WD409"},
    "WD214": {"WD210"},
    "WD217": {"WD205"},
    "WD303": {"WD603"},
    "WD704": {"WD203"},
    "WD705": {"WD210", "WD409"},
}


@pytest.mark.parametrize("hazard", HAZARDS, ids=[h.code for h in HAZARDS])
def test_bad_examples_say_little_else(hazard):
    rows = verify(hazard.bad, strict_lanes=hazard.strict_lanes).findings
    others = {f.code for f in rows} - {hazard.code, "WD301", "WD302"}
    assert others <= BESIDE.get(hazard.code, set())
    assert len(rows) <= 3 and sum(f.code in ("WD301", "WD302") for f in rows) <= 1


def row(code, resource="x", severity=Severity.ERROR, **fields):
    return Finding(code, "name", severity, code, resources=(resource,), **fields)


EMPTY = document("none", task("a", 0, 1), symbols=())


def codes(*rows, of=EMPTY):
    return [f.code for f in folded(of, rows)]


def test_only_what_speaks_of_the_same_resource_is_folded():
    assert codes(row("WD201"), row("WD206"), row("WD302")) == ["WD201", "WD302"]
    assert codes(row("WD201"), row("WD206", "y"), row("WD302", "y")) == ["WD201", "WD206", "WD302"]


def test_a_count_of_copies_is_one_row():
    assert codes(row("WD201"), row("WD221"), row("WD302")) == ["WD221", "WD302"]
    assert codes(row("WD201", "y"), row("WD221")) == ["WD201", "WD221"]


def test_one_hang_for_each_cause_a_cycle_first():
    assert codes(row("WD201"), row("WD302"), row("WD301"), row("WD302", "y")) == ["WD201", "WD301", "WD302"]
    assert codes(row("WD302"), row("WD302")) == ["WD302", "WD302"]  # no cause is known


def test_a_warning_explains_no_error():
    assert codes(row("WD201", severity=Severity.WARNING), row("WD206")) == ["WD201", "WD206"]


def test_a_leftover_that_is_an_error_stays():
    warning = row("WD210", severity=Severity.WARNING)
    assert codes(row("WD302"), row("WD210"), warning) == ["WD302", "WD210"]


def test_a_written_parity_is_the_cause_of_a_lap_and_another_wait_is_not():
    schedule = document(
        "m",
        task("a", 0, 1, mbar_arrive("x"), mbar_wait("x", 0), mbar_wait("x")),
        mbarriers=(Mbarrier("x", 1),),
        symbols=(),
    )
    assert codes(row("WD204", ops=("a.01",)), row("WD205"), of=schedule) == ["WD204"]
    assert codes(row("WD204", ops=("a.02",)), row("WD205"), of=schedule) == ["WD205"]


def test_the_cause_names_what_is_left_out():
    (kept,) = folded(EMPTY, [row("WD201"), row("WD205"), row("WD206")])
    assert "WD205, WD206" in kept.notes[-1]
    assert folded(EMPTY, [replace(kept, notes=())])[0].notes == ()


@pytest.mark.parametrize("apart", [True, False])
def test_what_nobody_commits_is_one_mistake(apart):
    """Each acquire arms the first stage again, and every copy lands there: one row, and one for the hang."""
    load = work("ab", "load")
    fill = [task("open", 0, 1, loop(acquire("ab"))), task("fill", 1, 1, loop(load))] if apart else []
    found = document(
        "no commit",
        *(fill or [task("fill", 0, 1, loop(acquire("ab"), load))]),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(),),
    )
    assert [f.code for f in verify(found).findings] == ["WD105", "WD302"]
    fixes = fixes_for(found, verify(found).errors[0])
    assert apart or [fix.edits[0].node.kind for fix in fixes] == [OpKind.COMMIT]


def test_a_commit_in_the_wrong_place_hides_nothing():
    """Two acquires in a row before two commits: the second arms a full barrier, which is a hazard of its own."""
    twice = acquire("ab"), acquire("ab"), work("ab", "load"), work("ab", "load"), commit("ab"), commit("ab")
    found = document(
        "armed twice",
        task("load", 0, 1, loop(*twice)),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"))),
        resources=(ring(),),
    )
    assert {"WD105", "WD207"} <= {f.code for f in verify(found).errors}


@pytest.mark.parametrize("skipped", ["fill", "release"])
def test_what_goes_wrong_on_tiles_that_one_side_skips(skipped):
    """A stage that is not filled there, or is given back without a wait: the predicate is what is wrong."""
    skip = partial(guard, GuardKind.SKIPPABLE)
    advance = work("queue", "get_and_advance_work_tile")
    fill = work("x", "fill")
    load = loop(acquire("x"), skip(fill) if skipped == "fill" else fill, commit("x"))
    use = loop(wait("x"), work("x", "read"), release("x"))
    if skipped == "release":
        load, use = skip(load), loop(skip(wait("x"), work("x", "read")), release("x"))
    found = document(
        "skipped by one",
        task("load", 0, 1, tiles(load, advance, skip_if="empty")),
        task("use", 4, 1, tiles(use, advance, skip_if="empty")),
        resources=(channel("x"), queue()),
        graph=(),
    )
    rows = verify(found).errors
    assert rows[0].code == "WD114" and {f.code for f in rows[1:]} <= {"WD105", "WD301", "WD302"}
