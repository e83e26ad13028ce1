"""Questions beside the verdict: which replace which."""

import importlib.util
import threading
from dataclasses import replace
from pathlib import Path

from warpdraft.app.analysis import Here
from warpdraft.app.fixing import find_fixes
from warpdraft.app.session import Session
from warpdraft.app.tools import TOOLS
from warpdraft.app.views.findings import finding_key
from warpdraft.core.edits import SetDocument
from warpdraft.core.findings import Finding, Report, Scope, Severity

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)
QUICK = replace(TOOLS, verify=lambda d, early: Report(d.name, "safe", Scope("all")), predict=lambda *_: None)


def test_a_question_replaces_those_of_its_kind_only_and_an_edit_what_no_longer_holds():
    go, begun, heard = threading.Event(), threading.Event(), []

    def slow(document, *arguments):
        begun.set()
        assert go.wait(10)
        return arguments or "done"

    found = [Finding("WD201", name, Severity.ERROR, "m", ops=(name,)) for name in ("load.02", "load.03")]
    tools = replace(QUICK, fixes=slow, why=slow, trace=slow)
    session = Session(sample.gemm(), None, tools, analyst=lambda: Here(tools))
    session.settle()
    for finding in found:
        find_fixes(session, finding)
        begun.wait(10)
    session.ask(lambda result: heard.append("why"), "why", "load.02")
    assert session.fixes == {finding_key(found[1]): None}  # the first can be asked for again
    go.set()
    assert session.settle() and heard == ["why"] and session.fixes[finding_key(found[1])] == (found[1],)
    go.clear()
    for kind in ("why", "trace"):
        session.ask(lambda result, kind=kind: heard.append(kind), kind, "load.02")
    session.do(SetDocument("name", "other"))
    go.set()
    assert session.settle() and heard == ["why", "trace"]  # what was exported is wanted still
    session.close()
