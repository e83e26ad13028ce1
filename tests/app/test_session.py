"""The session: edits, history, files, autosave and background results, all without a browser."""

import importlib.util
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.advising import Advising
from warpdraft.app.analysis import Child, Failed, Here, Spares, Unwanted
from warpdraft.app.debugger import Debugger
from warpdraft.app.files import Folder, OutsideFolder, autosave_of
from warpdraft.app.fixing import find_fixes
from warpdraft.app.session import Session, open_session
from warpdraft.app.tools import TOOLS
from warpdraft.app.values import Selection
from warpdraft.app.views.findings import finding_key
from warpdraft.core import edits
from warpdraft.core.advice import Advice
from warpdraft.core.findings import Finding, Fix, Report, Scope, Severity
from warpdraft.core.store import DocumentError

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

RENAME = edits.SetDocument("name", "other")


def no_findings(document, early=None):
    return Report(document.name, "safe", Scope("all"))


def nothing(*_):
    return None


QUICK = replace(TOOLS, verify=no_findings, predict=nothing, lower=nothing, to_python=nothing)


def new(document, path=None, **changes):
    tools = replace(QUICK, **changes)
    return Session(document, path, tools, analyst=lambda: Here(tools))


def reopen(path):
    return open_session(path, QUICK, analyst=lambda: Here(QUICK))


@pytest.fixture
def session(tmp_path):
    TOOLS.save(sample.gemm(), tmp_path / "gemm.warpdraft.json")
    session = new(sample.gemm(), tmp_path / "gemm.warpdraft.json")
    yield session
    session.close()


def test_do_undo_redo(session):
    first = session.document
    assert session.do(RENAME) and session.document.name == "other" and session.dirty
    session.undo()
    assert session.document == first and not session.dirty
    session.redo()
    assert session.document.name == "other" and session.revision == 3


def test_the_module_and_the_source_are_made_while_somebody_reads_them(tmp_path):
    asked = []
    session = new(sample.gemm(), lower=lambda d: asked.append(d.name) or d.name, to_python=lambda d: "source")
    assert session.settle() and not asked
    session.read(True)
    assert session.settle() and (session.code.value, session.python.value) == (
        session.document.name,
        "source",
    )
    session.do(RENAME)
    assert session.settle() and session.code.value == "other"
    session.set_trip_counts({"k_tiles": 5})
    session.read(True)
    assert session.settle() and asked == [sample.gemm().name, "other"]  # not again for the same document
    session.read(False)
    session.undo()
    assert session.settle() and len(asked) == 2
    session.close()


def test_a_refused_edit_is_a_notice_and_changes_nothing(session):
    revision = session.revision
    assert not session.do(edits.DeleteNode("nobody"))
    assert (session.notice.kind, session.revision) == ("error", revision)


def test_several_edits_are_one_step(session):
    first = session.document
    assert session.do_all((RENAME, edits.SetDocument("target", "sm_100a")), "both")
    session.undo()
    assert session.document == first
    assert not session.do_all((RENAME, edits.DeleteNode("nobody")))
    assert session.document == first


def test_selection_names_only_what_exists(session):
    session.select("op", ("load.00", "nobody"))
    assert session.selection == Selection("op", ("load.00",))
    session.do(edits.DeleteNode("load.00"))
    assert session.selection == Selection()
    session.select("resource", ("smem_ab",))
    assert session.selection.first == "smem_ab"


def test_results_come_and_late_ones_are_dropped(tmp_path):
    hold, seen = threading.Event(), []

    def slow(document, early):
        seen.append(document.name)
        if document.name == "persistent_gemm":
            hold.wait(5)
        return no_findings(document)

    session = new(sample.gemm(), verify=slow)
    session.do(RENAME)
    assert session.checking
    hold.set()
    assert session.settle()
    assert session.report.value.document == "other" and not session.checking
    session.close()


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

    session = new(sample.gemm(), verify=verify)
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

    session = new(sample.gemm(), verify=verify)
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

    session = new(sample.gemm(), verify=verify)
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


def test_the_analysis_process_tells_early():
    analyst, early = Child(), []
    report = analyst.ask("verify", edits.DeleteNode("load.04").apply(sample.gemm()), early=early.append)
    assert report.verdict == "unsafe" and [told.verdict for told in early] == ["unsafe"]
    analyst.close()


def test_a_defect_in_an_analysis_is_told_not_raised():
    def broken(document, early):
        raise KeyError("x")

    session = new(sample.gemm(), verify=broken)
    assert session.settle()
    assert session.report.value is None and "KeyError" in session.report.problem
    session.close()


def test_a_finding_stays_selected_while_it_lasts():
    def verify(document, early):
        found = (
            [Finding("WD801", "x", Severity.ADVICE, "m", ops=("load.02",))]
            if document.name != "other"
            else []
        )
        return Report(document.name, "safe", Scope("all"), tuple(found))

    session = new(sample.gemm(), verify=verify)
    assert session.settle()
    session.select("finding", (finding_key(session.report.value.findings[0]),))
    session.do(edits.SetDocument("target", "sm_100a"))
    session.settle()
    assert session.selection.kind == "finding"
    session.do(RENAME)
    session.settle()
    assert session.selection == Selection()
    session.close()


def test_save_and_undo_across_it(session):
    session.do(RENAME)
    assert session.save() and not session.dirty
    assert TOOLS.load(session.path).name == "other"
    session.undo()
    assert session.dirty and session.document.name == "persistent_gemm"


def test_save_without_a_place_or_to_a_bad_one_is_told(tmp_path):
    session = new(sample.gemm())
    assert not session.save() and "Save as" in session.notice.text
    assert (
        not session.save(tmp_path / "no" / "such" / "x.warpdraft.json") and "Not saved" in session.notice.text
    )
    session.close()


def test_autosave_is_kept_offered_and_dropped(session):
    session.do(RENAME)
    assert session.settle() and autosave_of(session.path).is_file()
    again = reopen(session.path)
    assert again.recovery.name == "other" and again.document.name == "persistent_gemm"
    again.recover(True)
    assert again.document.name == "other" and again.dirty
    again.undo()
    assert again.settle() and not autosave_of(session.path).exists()
    again.redo()
    again.save()
    assert again.settle() and not autosave_of(session.path).exists()
    again.close()


def test_recovery_can_be_refused(session):
    session.do(RENAME)
    session.settle()
    again = reopen(session.path)
    again.recover(False)
    again.settle()
    assert again.document.name == "persistent_gemm" and not autosave_of(session.path).exists()
    again.close()


def test_open_resets_and_a_bad_file_changes_nothing(session, tmp_path):
    session.do(RENAME)
    bad = tmp_path / "bad.warpdraft.json"
    bad.write_text("{")
    assert not session.open(bad) and session.document.name == "other"
    other = tmp_path / "b.warpdraft.json"
    TOOLS.save(replace(sample.gemm(), name="b"), other)
    assert session.open(other)
    assert (session.document.name, session.history.past, session.dirty, session.path) == (
        "b",
        (),
        False,
        other,
    )
    with pytest.raises(DocumentError):
        reopen(bad)


def test_trip_counts_follow_the_symbols(session):
    assert set(session.trip_counts) == {"k_tiles", "tiles"}
    session.set_trip_counts({"k_tiles": 9, "nobody": 1})
    assert session.trip_counts["k_tiles"] == 9 and "nobody" not in session.trip_counts


def test_only_files_under_the_folder_are_opened(tmp_path):
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.warpdraft.json").write_text("")
    (tmp_path / "secret.warpdraft.json").write_text("")
    (root / "link.warpdraft.json").symlink_to(tmp_path / "secret.warpdraft.json")
    folder = Folder(root)
    assert "sub/a.warpdraft.json" in [folder.label(p) for p in folder.documents()]
    assert folder.allowed("sub/a.warpdraft.json").is_file()
    for name in ("../secret.warpdraft.json", str(tmp_path / "secret.warpdraft.json"), "link.warpdraft.json"):
        with pytest.raises(OutsideFolder):
            folder.allowed(name)


def test_the_analysis_process_answers_fails_in_words_and_ends():
    analyst = Child()
    assert analyst.ask("verify", sample.gemm()).verdict in ("safe", "unsafe")
    with pytest.raises(Failed):
        analyst.ask("why", sample.gemm(), "nobody")
    drawing, facts = analyst.ask("predict", sample.gemm(), {"k_tiles": 4, "tiles": 1})
    assert drawing.bars["op"] and facts["rows"]
    with pytest.raises(Unwanted):
        analyst.ask("verify", sample.gemm(), unwanted=lambda: True)
    analyst.close()
    with pytest.raises(Unwanted):
        analyst.ask("verify", sample.gemm())


def test_an_analysis_process_that_dies_is_replaced():
    analyst = Child()
    analyst.ask("verify", sample.gemm())
    analyst._process.kill()
    analyst._process.wait()
    with pytest.raises(Failed):
        analyst.ask("verify", sample.gemm())
    assert analyst.ask("verify", sample.gemm()).document == "persistent_gemm"
    analyst.close()


def test_why_an_op_is_there():
    answers = []
    session = Session(sample.gemm(), None)
    wait = next(p.node.id for p in edits.places(session.document) if getattr(p.node, "kind", "") == "wait")
    session.ask(answers.append, "why", wait)
    assert session.settle(60)
    assert answers[0].value["state"] in ("needed", "open", "redundant") and answers[0].value["lines"]
    session.close()


def test_advice_joins_the_findings_until_the_next_edit():
    found = Finding(
        "WD801", "x", Severity.ADVICE, "m", ops=("load.02",), fixes=(Fix("Rename it", (RENAME,)),)
    )
    session = new(sample.gemm(), advise=lambda document, report: Advice((found,), ("a note",)))
    drawn = []
    advising = Advising(session, lambda: drawn.append(advising.view()["state"]))
    assert session.settle() and found not in session.report.value.findings
    verdict = session.report.value.verdict
    advising.ask()
    assert session.settle() and drawn == ["asking", "given"] and advising.view()["notes"] == ["a note"]
    assert session.report.value.findings[-1] == found and session.report.value.verdict == verdict
    find_fixes(session, found)
    assert session.settle() and session.fixes[finding_key(found)] == found.fixes
    session.do(RENAME)
    advising.forget()
    assert session.settle() and found not in session.report.value.findings
    assert advising.view() == {"state": "none", "notes": []}
    session.close()


def test_fixes_are_looked_for_when_asked_and_forgotten_with_the_next_edit():
    fix = Fix("Rename it", (RENAME,))
    found = Finding("WD201", "x", Severity.ERROR, "m", ops=("load.02",))
    session = new(
        sample.gemm(),
        verify=lambda d, early: Report(d.name, "unsafe", Scope("all"), (found,)),
        fixes=lambda document, finding: (fix,),
    )
    session.settle()
    find_fixes(session, found)
    assert session.settle() and session.fixes[finding_key(found)] == (fix,)
    session.do_all(fix.edits, fix.title)
    assert session.fixes == {} and session.history.titles == ("Rename it",)
    session.close()


def test_what_is_kept_is_acknowledged(session):
    session.do(RENAME)
    assert session.settle()
    deadline = time.monotonic() + 5
    while session.kept < 1 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert session.kept == session.revision == 1
    assert TOOLS.load(autosave_of(session.path)) == session.document
    session.undo()
    assert session.kept == 2


def test_spare_processes_answer_and_are_replaced():
    spares = Spares()
    spares.keep(1)
    first = spares._ready[0]
    assert spares.take() is first and first.poll() is None
    first.kill()
    first.communicate()
    spares.keep(2)
    spares._ready[0].kill()
    spares._ready[0].wait()
    taken = spares.take()  # a dead one is passed over
    assert taken.poll() is None
    taken.kill()
    taken.communicate()
    spares.close()
    assert not spares._ready


def test_a_question_over_its_budget_is_ended_and_the_next_is_answered():
    analyst = Child(budget=0.0)
    with pytest.raises(Failed, match="took more than"):
        analyst.ask("verify", sample.gemm())
    analyst._budget = 60.0
    assert analyst.ask("verify", sample.gemm()).document == "persistent_gemm"
    analyst.close()


BUSY = """
import os, subprocess, sys, time
code = "import os, sys; from warpdraft.app.analyst import end_with; end_with(int(sys.argv[1]))"
code += "; print(os.getpid(), flush=True)\\nwhile True: pass"
subprocess.Popen([sys.executable, "-c", code, str(os.getpid())], start_new_session=True)
time.sleep(60)
"""


def test_a_computing_analyst_ends_when_the_editor_is_killed():
    editor = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True)
    analyst = int(editor.stdout.readline())
    editor.kill()
    editor.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not ended(analyst):
        time.sleep(0.05)
    assert ended(analyst)


def ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_an_absurd_number_of_stages_freezes_nothing():
    document = edits.SetPipeline("smem_ab", "stages", 10**9).apply(sample.gemm())
    for name, more in (("verify", ()), ("predict", ({},)), ("lower", ()), ("to_python", ())):
        analyst = Child(budget=15.0)
        try:
            analyst.ask(name, document, *more)
        except Failed as failure:
            assert "took more" not in str(failure)
        analyst.close()
    with pytest.raises(ValueError, match="stages"):
        Debugger(document, {})
