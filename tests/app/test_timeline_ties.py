"""What a finding says of two places in the timeline and in the graph: a deadlock's cycle, a race's two intervals."""

from pathlib import Path

import pytest

from warpdraft.app.views.findings import finding_key
from warpdraft.app.views.selection import selection_view
from warpdraft.app.views.timeline import drawing
from warpdraft.app.views.timeline_ties import UNORDERED, WAITS, Tie, places_of, tie_columns, ties_of
from warpdraft.core.findings import Finding, Severity, Step
from warpdraft.core.simulate import simulate
from warpdraft.core.store import load
from warpdraft.core.verify import verify

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


def found(name, code):
    document = load(EXAMPLES / f"{name}.warpdraft.json")
    report = verify(document)
    return document, report, next(f for f in report.findings if f.code == code)


def test_a_finding_shows_at_the_last_step_of_each_op():
    steps = (Step("w0", "a", "x", "k 0"), Step("w0", "a", "x", "k 3"), Step("w0", "b", "x", "k 1"))
    finding = Finding("WD1", "n", Severity.ERROR, "m", ("a",), witness=steps)
    assert places_of(finding) == {("a", "k 3")} and places_of(None) == frozenset()
    assert ties_of(finding) == ties_of(None) == ()


def test_a_deadlock_is_a_cycle_of_lanes_and_on_the_graph():
    document, report, finding = found("broken_deadlock", "WD301")
    ties = ties_of(finding)
    assert len(ties) == 2 and all(tie.waits for tie in ties)
    assert ties[0].first == ties[1].second and ties[0].second == ties[1].first
    columns = tie_columns(drawing(simulate(document, dict(finding.case))), ties)
    assert columns["text"] == [WAITS, WAITS]
    assert columns["x0"] == columns["x1"] and columns["y0"] == columns["y1"][::-1]
    cycle = selection_view(document, report, "finding", (finding_key(finding),))["cycle"]
    assert cycle == [
        {"waits": "load", "owes": "math", "resource": "smem_ab"},
        {"waits": "math", "owes": "load", "resource": "smem_ab"},
    ]


def test_a_race_is_two_intervals_and_the_order_that_is_missing():
    document, _, finding = found("broken_early_release", "WD403")
    (tie,) = ties_of(finding)
    assert not tie.waits
    picture = drawing(simulate(document, dict(finding.case)))
    columns = tie_columns(picture, (tie,))
    assert columns["text"] == [UNORDERED]
    reads = [i for i, op in enumerate(picture.bars["op"]) if op == tie.first.op]
    of_it = [i for i in reads if picture.bars["at"][i] == tie.first.at]
    assert columns["x0"] == [max(picture.bars["right"][i] for i in of_it if "w4" not in picture.bars["lane"][i])]
    assert {(tie.first.op, tie.first.at), (tie.second.op, tie.second.at)} <= places_of(finding)


@pytest.mark.parametrize("at", ["tile 99, k 0", ""])
def test_steps_that_the_timeline_has_not_are_not_drawn(at):
    document, _, finding = found("broken_early_release", "WD403")
    (tie,) = ties_of(finding)
    elsewhere = Tie(tie.first, Step(tie.second.agent, tie.second.op, "", at), False)
    assert tie_columns(drawing(simulate(document, {})), (elsewhere,))["text"] == []
