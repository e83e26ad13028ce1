"""The session: edits, history, files, autosave and background results, all without a browser."""

import importlib.util
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.advising import Advising
from warpdraft.app.analysis import Child, Failed, Here
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


def test_what_comes_by_itself_leaves_a_question_and_what_the_person_does_answers_it():
    session = new(sample.gemm())
    session.say("error", "replace it?", {"label": "Replace it", "intent": {"type": "save"}})
    session.tell("done", "exported")
    session.tell("error", "no trace")
    [question] = session.asked
    assert question.text == "replace it?" and session.notice.text == "no trace"
    session.dismiss(session.notice.number)
    assert session.notice is None and session.asked == (question,)
    session.dismiss(question.number)
    assert session.asked == ()
    session.tell("error", "anyway?", {"label": "Yes", "intent": {"type": "export"}})
    session.tell("done", "exported")
    session.do(RENAME)
    assert session.notice is None and session.asked == ()  # they spoke of another document
    session.close()
