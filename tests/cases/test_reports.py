"""Further reports from the field: each wrong form breaks its rule, with a witness that can be followed; each right one is
proved for all trip counts."""

from collections.abc import Callable

import pytest
from forms_of_kernels import KERNELS
from forms_of_reports import REPORTS
from more_forms_of_reports import MORE
from witnesses import check_witnesses

from warpdraft.core import Document, verify

MOST_WRONG = 6  # rules that one mistake may break
CUT_SHORT = ("FlashAttention-3",)  # phases that nobody orders: a witness shows one way of many


@pytest.mark.parametrize(
    ("report", "name", "expected", "build"),
    (*REPORTS, *MORE, *KERNELS),
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_form(report: str, name: str, expected: str, build: Callable[[], Document]) -> None:
    document = build()
    found = verify(document)
    codes = list(dict.fromkeys(f.code for f in found.errors))
    if expected == "safe":
        assert (found.verdict, [f.code for f in found.findings], found.scope.kind) == ("safe", [], "all")
        return
    assert found.verdict == "unsafe" and expected in codes and len(codes) <= MOST_WRONG, codes
    if report not in CUT_SHORT:
        check_witnesses(document, found)
