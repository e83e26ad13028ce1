"""New documents: every template verifies, gets a name that is free, and is not lost before its first save."""

from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.analysis import Here
from warpdraft.app.files import Folder, autosave_of
from warpdraft.app.page import Page
from warpdraft.app.session import Session, open_session
from warpdraft.app.templates import TEMPLATES, fresh_path, templates_view
from warpdraft.app.tools import TOOLS
from warpdraft.core import edits
from warpdraft.core.document import Document
from warpdraft.core.findings import Report, Scope
from warpdraft.core.verify import verify

QUICK = replace(
    TOOLS,
    verify=lambda d: Report(d.name, "safe", Scope("all")),
    predict=lambda *_: None,
    lower=lambda *_: None,
    to_python=lambda *_: None,
)


@pytest.fixture
def page(tmp_path):
    session = Session(Document("first"), None, QUICK, analyst=lambda: Here(QUICK))
    page = Page(session, Folder(tmp_path))
    yield page
    page.close()


@pytest.mark.parametrize("template", [t for t in TEMPLATES if t.file], ids=lambda t: t.key)
def test_a_template_is_safe(template):
    assert verify(template.document()).verdict == "safe"


def test_the_page_lists_them_all():
    assert [row["template"] for row in templates_view()] == [t.key for t in TEMPLATES]


def test_a_new_document_has_a_free_name_and_survives_without_a_save(page, tmp_path):
    page.receive({"type": "new", "template": "gemm"})
    session = page.session
    assert session.path == tmp_path / "gemm.warpdraft.json" and session.dirty and not session.path.exists()
    session.do(edits.SetDocument("target", "sm_100a"))
    assert session.settle()
    assert page.folder.documents()[0] == session.path  # listed, though only its autosave is there
    assert fresh_path(page.folder, "gemm").name == "gemm_2.warpdraft.json"
    again = open_session(session.path, QUICK, analyst=lambda: Here(QUICK))
    assert again.document == session.document and again.dirty and again.recovery is None
    assert again.save() and not again.dirty and again.settle() and not autosave_of(session.path).exists()
    again.close()


def test_a_new_document_that_nothing_was_done_on_leaves_nothing_behind(page, tmp_path):
    page.receive({"type": "new", "template": "empty"})
    page.receive({"type": "new", "template": "copy"})
    assert page.session.settle()
    assert [path.name for path in tmp_path.iterdir()] == ["tma_copy.warpdraft.json.autosave"]


def test_an_unknown_template_is_told(page):
    page.receive({"type": "new", "template": "x"})
    assert page.session.notice.kind == "error" and page.session.document.name == "first"


def test_a_folder_that_is_full_of_names(tmp_path):
    for name in ("a", "a_2"):
        Path(tmp_path, f"{name}.warpdraft.json").touch()
    assert fresh_path(Folder(tmp_path), "a").name == "a_3.warpdraft.json"
