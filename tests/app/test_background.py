"""Reports as they come: early, late, whole, and known from before."""

import importlib.util
import threading
from dataclasses import replace
from pathlib import Path

from warpdraft.app.analysis import Here
from warpdraft.app.fixing import find_fixes
from warpdraft.app.session import Session
from warpdraft.app.tools import TOOLS
from warpdraft.app.values import Selection
from warpdraft.app.views.findings import finding_key
from warpdraft.core import edits
from warpdraft.core.findings import Finding, Report, Scope, Severity

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

RENAME = edits.SetDocument("name", "other")


def no_findings(document):
    return Report(document.name, "safe", Scope("all"))


def new(document, verify):
    tools = replace(TOOLS, verify=verify, predict=lambda *_: None)
    return Session(document, None, tools, analyst=lambda: Here(tools))


def test_what_is_known_early_is_shown_until_the_whole_report_comes():
    first, second = (Finding(code, "x", Severity.ERROR, "m", ops=("load.02",)) for code in ("WD301", "WD403"))
    hold, told = threading.Event(), threading.Event()

    def verify(document, early):
        if document.name != "other":
            return no_findings(document)
        early(Report(document.name, "unsafe", Scope("incomplete"), (first,)))
        told.set()
        hold.wait(5)
        return Report(document.name, "unsafe", Scope("all"), (second,))

    session = new(sample.gemm(), verify)
    assert session.settle()
    session.do(RENAME)
    assert told.wait(5) and session.report.value.findings == (first,)
    assert session.checking and session.report.revision == session.revision  # known to be unsafe, not yet all
    session.select("finding", (finding_key(first),))
    find_fixes(session, first)
    assert session.fixes == {}  # looked for once the report is whole
    hold.set()
    assert session.settle() and not session.checking
    assert session.report.value.findings == (second,) and session.selection == Selection()
    session.close()


def test_what_is_told_early_of_an_older_document_is_dropped():
    hold = threading.Event()

    def verify(document, early):
        if document.name == "other":
            hold.wait(5)
            early(Report(document.name, "unsafe", Scope("incomplete")))
        return no_findings(document)

    session = new(sample.gemm(), verify)
    seen = []
    session.param.watch(lambda event: seen.append(event.new.value), "report")
    assert session.settle()
    session.do(RENAME)
    session.do(edits.SetDocument("name", "third"))
    hold.set()
    assert session.settle()
    assert seen[-1].document == "third" and "other" not in [report.document for report in seen]
    session.close()


def test_a_report_that_is_known_comes_at_once_after_undo_and_redo(tmp_path):
    checked = []

    def verify(document, early):
        checked.append(document.name)
        slow = document.name == "slow"
        return Report(document.name, "incomplete" if slow else "safe", Scope("incomplete" if slow else "all"))

    session = new(sample.gemm(), verify)
    assert session.settle()
    session.do(RENAME)
    assert session.settle()
    session.undo()
    assert not session.checking and session.report.value.document == "persistent_gemm"
    session.redo()
    assert not session.checking and session.report.value.document == "other"
    assert session.settle() and checked == ["persistent_gemm", "other"]
    session.do(edits.SetDocument("name", "slow"))
    assert session.settle()
    session.undo()
    session.redo()
    assert session.settle() and checked[2:] == ["slow", "slow"]  # it may have time enough now
    file = tmp_path / "x.warpdraft.json"
    TOOLS.save(sample.gemm(), file)
    assert session.open(file) and session.settle()
    assert checked[4:] == ["persistent_gemm"]
    session.close()
