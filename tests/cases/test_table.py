"""All cases in one table: each form, the rule that it should break, and what is found (shown by ``pytest -s``)."""

from collections.abc import Iterator

import pytest
from forms import FORMS, IDS, RIGHT, SAFE, Form

from warpdraft.core import Report, verify

MOST_WRONG = 4  # rules that one mistake may break


@pytest.fixture(scope="module")
def reports() -> Iterator[dict[Form, Report]]:
    """What every form that was looked at has; printed at the end."""
    found: dict[Form, Report] = {}
    yield found
    print("\n" + table(found))


def table(reports: dict[Form, Report]) -> str:
    """One line for each form."""
    lines = [f"{'case':5}{'form':30}{'expected':10}{'found':28}scope"]
    for form, report in reports.items():
        codes = " ".join(dict.fromkeys(f.code for f in report.findings)) or report.verdict
        lines.append(f"{form.case:5}{form.name:30}{form.expected:10}{codes:28}{report.scope.kind}")
    return "\n".join(lines)


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f"{f.case}-{f.name}")
def test_form(form: Form, reports: dict[Form, Report]) -> None:
    report = reports[form] = verify(form.build(), strict_lanes=form.lanes, trip_counts=dict(form.trips))
    codes = list(dict.fromkeys(f.code for f in report.errors))
    if form.expected == SAFE:
        assert (report.verdict, [f.code for f in report.findings]) == ("safe", [])
        assert report.scope.kind == ("all" if form.proved else "listed"), report.scope.reason
    else:
        assert form.expected in codes and len(codes) <= MOST_WRONG, codes
        assert report.verdict == "unsafe"


def test_every_case_has_its_rows() -> None:
    wrong = {f.case for f in FORMS if f.expected != SAFE}
    right = {f.case for f in FORMS if f.expected == SAFE}
    assert {f.case for f in FORMS} == set(IDS) and right == set(IDS)
    assert wrong >= set(IDS) - set(RIGHT)
    assert len({(f.case, f.name) for f in FORMS}) == len(FORMS)
