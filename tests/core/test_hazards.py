"""What holds for every rule: its examples, its name, its fixes."""

import re
import sys
from dataclasses import replace

import pytest

from warpdraft.core.advice import advise, with_advice
from warpdraft.core.edits import EditError
from warpdraft.core.findings import Severity
from warpdraft.core.fixes import applied, fixes_for
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.hazards.base import no_advice
from warpdraft.core.report import explain, render_report, report_json
from warpdraft.core.unmodelled import unmodelled
from warpdraft.core.verify import verify

every_hazard = pytest.mark.parametrize("hazard", HAZARDS, ids=[h.code for h in HAZARDS])
FIXED = {
    "WD101",
    "WD103",
    "WD104",
    "WD105",
    "WD106",
    "WD108",
    "WD112",
    "WD201",
    "WD202",
    "WD203",
    "WD204",
    "WD207",
    "WD208",
    "WD209",
    "WD221",
    "WD301",
    "WD403",
    "WD404",
    "WD408",
    "WD409",
    "WD411",
    "WD501",
    "WD502",
    "WD503",
    "WD504",
    "WD505",
    "WD506",
    "WD601",
    "WD603",
    "WD801",
    "WD802",
    "WD803",
}


def reported(hazard, document):
    """The report, with the advice of rules that give some. What is told early of it holds at the end."""
    early = []
    report = verify(document, strict_lanes=hazard.strict_lanes, early=early.append)
    assert len(early) <= 1 and all(told.verdict == report.verdict == "unsafe" for told in early)
    assert all(any(f.severity is Severity.ERROR for f in told.findings) for told in early)
    return report if hazard.advise is no_advice else with_advice(report, advise(document, budget=120))


@every_hazard
def test_the_bad_example_breaks_the_rule(hazard):
    found = [f for f in reported(hazard, hazard.bad).findings if f.code == hazard.code]
    assert found and all(f.name == hazard.name for f in found)
    assert all(f.message for f in found)


@every_hazard
def test_the_good_example_breaks_no_rule(hazard):
    report = verify(hazard.good, strict_lanes=hazard.strict_lanes)
    assert report.findings == ()
    assert hazard.code not in {f.code for f in reported(hazard, hazard.good).findings}
    assert report.verdict == ("incomplete" if unmodelled(hazard.good) else "safe")


@every_hazard
def test_the_module_names_its_own_code(hazard):
    module = sys.modules[f"warpdraft.core.hazards.{_module(hazard)}"]
    assert module.__doc__.startswith(f"{hazard.code}  {hazard.name}: ")
    assert re.fullmatch(r"WD[1-8]\d\d", hazard.code) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", hazard.name)


def _module(hazard):
    names = [n for n, m in sys.modules.items() if getattr(m, "HAZARD", None) is hazard]
    assert len(names) == 1
    return names[0].rpartition(".")[2]


@every_hazard
def test_every_fix_repairs_the_bad_example(hazard):
    report = reported(hazard, hazard.bad)
    fixes = [(f, fix) for f in report.findings if f.code == hazard.code for fix in fixes_for(hazard.bad, f)]
    assert bool(fixes) == (hazard.code in FIXED)
    for finding, fix in fixes:
        after = reported(hazard, applied(hazard.bad, fix))
        assert finding.code not in {f.code for f in after.findings if f.resources == finding.resources}


@every_hazard
def test_the_bad_example_can_be_shown(hazard):
    report = reported(hazard, hazard.bad)
    text = render_report(hazard.bad, report)
    assert f"[{hazard.code}]" in text and f"explain {hazard.code}" in text
    assert hazard.code in [f["code"] for f in report_json(hazard.bad, report)["findings"]]
    assert explain(hazard.code).startswith(f"{hazard.code}  {hazard.name}")


@every_hazard
def test_its_page_shows_what_differs(hazard):
    wrong, _, right = explain(hazard.code).partition("Wrong: ")[2].partition("Right: ")
    assert wrong.partition("\n")[2].strip() != right.partition("\n")[2].strip()


def test_codes_and_names_are_unique():
    assert len({h.code for h in HAZARDS}) == len({h.name for h in HAZARDS}) == len(HAZARDS)


def test_a_fix_that_does_not_fit_is_not_offered(monkeypatch):
    from warpdraft.core import fixes

    hazard = next(h for h in HAZARDS if h.code == "WD201")
    finding = next(
        f for f in verify(hazard.bad, strict_lanes=hazard.strict_lanes).findings if f.code == "WD201"
    )

    def fails(document, fix):
        raise EditError("no")

    monkeypatch.setattr(fixes, "applied", fails)
    assert fixes_for(hazard.bad, finding) == ()


def test_findings_are_sorted_with_errors_first():
    hazard = next(h for h in HAZARDS if h.code == "WD107")
    report = verify(replace(hazard.bad, graph=()))
    ranks = [list(Severity).index(f.severity) for f in report.findings]
    assert ranks == sorted(ranks)


def test_explain_knows_only_rules():
    with pytest.raises(KeyError):
        explain("WD999")
