"""Two documents compared."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.analysis import Here
from warpdraft.app.compare import compare
from warpdraft.app.compare_pane import OPENED, PREVIOUS, SAVED
from warpdraft.app.files import Folder
from warpdraft.app.page import Page
from warpdraft.app.running import RunState
from warpdraft.app.session import open_session
from warpdraft.app.tools import TOOLS
from warpdraft.core import edits
from warpdraft.core.document import OpKind
from warpdraft.core.tree import find_task, ops_of

EXAMPLE = Path(__file__).parents[2] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
DOCUMENT = TOOLS.load(EXAMPLE)
COUNTS = {"k_tiles": 8, "tiles": 2}
RELEASE = next(op.id for op in ops_of(find_task(DOCUMENT, "math")) if op.kind is OpKind.RELEASE)


def test_an_edit_is_compared_with_what_was_before():
    broken = edits.DeleteNode(RELEASE).apply(DOCUMENT)
    answer = compare(broken, DOCUMENT, COUNTS, ("before", "now"))
    facts = {name: (a, b) for name, a, b in answer["facts"]}
    assert facts["verdict"] == ("safe", "unsafe") and "(stuck)" in facts["predicted cycles"][1]
    assert answer["new"] and not answer["gone"] and answer["faster"] == ""
    assert ["-", "release"] in [
        [sign, "release"] for sign, text in answer["diff"] if "release" in text and sign == "-"
    ]
    assert all(svg.startswith("<svg") for svg in answer["svgs"])
    json.dumps(answer)


def test_the_same_is_the_same_and_a_change_of_speed_is_told():
    same = compare(DOCUMENT, DOCUMENT, COUNTS, ("a", "b"))
    assert same["diff"] == [] and same["faster"] == "as fast as before"
    fewer = edits.SetPipeline("smem_ab", "stages", 2).apply(DOCUMENT)
    assert "more cycles" in compare(fewer, DOCUMENT, COUNTS, ("a", "b"))["faster"]


def test_documents_differ_in_target_groups_and_works_too():
    other = replace(DOCUMENT, target="sm_100a", groups=())
    heads = [text for sign, text in compare(other, DOCUMENT, {}, ("a", "b"))["diff"] if sign == "@"]
    assert "document" in heads and "groups" in heads


@pytest.fixture
def page(tmp_path):
    for name in ("one", "two"):
        TOOLS.save(replace(DOCUMENT, name=name), tmp_path / f"{name}.warpdraft.json")
    session = open_session(tmp_path / "one.warpdraft.json", analyst=lambda: Here(TOOLS))
    page = Page(session, Folder(tmp_path))
    yield page
    page.close()


def test_the_page_compares_with_earlier_states_and_files(page):
    session = page.session
    assert page._view("compare")["options"] == []
    session.do(edits.DeleteNode(RELEASE))
    assert [key for key, _ in page._view("compare")["options"]] == [PREVIOUS, OPENED, SAVED]
    for key in (PREVIOUS, OPENED, SAVED, "two.warpdraft.json"):
        page.receive({"type": "compare", "with": key})
        assert session.settle(60)
        view = page._view("compare")
        assert view["answer"]["facts"][0] == ["verdict", "safe", "unsafe"], key
        assert view["revision"] == session.revision
    page.receive({"type": "compare", "with": "../x.json"})
    assert "not under" in page._view("compare")["problem"]
    page.receive({"type": "compare", "with": "none.warpdraft.json"})
    assert page._view("compare")["problem"]
    page.receive({"type": "open", "name": "two.warpdraft.json"})
    assert page._view("compare")["with"] == "" and page._view("compare")["answer"] is None


def test_a_profile_of_the_gpu_is_laid_over_the_prediction(page, monkeypatch):
    asked = []
    monkeypatch.setattr(page._runner, "profile_document", asked.append)
    page.receive({"type": "profile"})
    assert asked == [page.session.document]
    trace = json.loads(TOOLS.trace(DOCUMENT, dict(page.session.trip_counts)))
    page._ran(RunState("done", result=trace))
    assert page.session.settle(60)
    measured = page._view("timeline_tools")["measured"]
    assert measured["name"] == "measured on the GPU" and measured["differs"] == 0


def test_where_a_kernel_hung_is_shown_on_the_document(page):
    ops = (
        next(op.id for task in DOCUMENT.tasks for op in ops_of(task) if op.kind is kind)
        for kind in (OpKind.ACQUIRE, OpKind.WAIT)
    )
    stuck = [{"op": op, "stage": 0, "parity": 1, "step": 3, "warps": 8} for op in ops]
    page._ran(RunState("done", result={"verdict": "hung", "message": "8 warps wait", "waiting": stuck}))
    assert page.session.selection.ids == tuple(wait["op"] for wait in stuck)
    assert "It hung: 8 warps wait" in page.session.notice.text
