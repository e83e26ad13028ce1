"""Saving replaces nothing that another has written, and no unsaved changes that wait for a decision."""

from dataclasses import replace

import pytest

from warpdraft.app.analysis import Here
from warpdraft.app.files import autosave_of
from warpdraft.app.session import open_session
from warpdraft.app.templates import TEMPLATES
from warpdraft.app.tools import TOOLS
from warpdraft.core import edits
from warpdraft.core.findings import Report, Scope

QUICK = replace(
    TOOLS,
    verify=lambda document: Report(document.name, "safe", Scope("all")),
    predict=lambda *_: None,
    lower=lambda *_: None,
    to_python=lambda *_: None,
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.warpdraft.json"
    TOOLS.save(replace(TEMPLATES[0].document(), name="a"), path)
    return path


@pytest.fixture
def tab(path):
    opened = []

    def open():
        opened.append(open_session(path, QUICK, analyst=lambda: Here(QUICK)))
        return opened[-1]

    yield open
    for session in opened:
        session.close()


def target(session):
    return edits.SetDocument("target", "sm_100a" if session.document.target == "sm_90a" else "sm_90a")


def labels(session):
    return [choice["label"] for choice in session.notice.action]


def test_save_as_asks_before_it_replaces_and_names_the_document(tab, path):
    other = path.with_name("b.warpdraft.json")
    TOOLS.save(TEMPLATES[0].document(), other)
    before, session = other.read_bytes(), tab()
    assert not session.save(other) and labels(session) == ["Replace it"] and other.read_bytes() == before
    assert "b.warpdraft.json exists: replace it?" in session.notice.text
    assert session.save(other, over=True)
    assert (session.path, session.document.name, session.dirty) == (other, "b", False)
    assert TOOLS.load(other).name == "b" and TOOLS.load(path).name == "a"


def test_a_file_that_another_tab_saved_is_not_overwritten_silently(tab, path):
    first, second = tab(), tab()
    first.do(target(first))
    assert first.save()
    second.do(edits.SetDocument("name", "mine"))
    assert not second.save() and labels(second) == ["Overwrite", "Save as", "Reload"]
    assert TOOLS.load(path) == first.document
    assert second.save(over=True) and TOOLS.load(path).name == "mine"
    second.do(edits.SetDocument("name", "again"))
    assert second.save()  # its own file by now


def test_an_offer_that_is_ignored_is_not_lost(tab, path):
    first = tab()
    first.do(edits.SetDocument("name", "old"))
    first.settle()
    second = tab()
    second.do(edits.SetDocument("name", "new"))
    assert second.settle() and second.recovery.name == "old"
    assert TOOLS.load(autosave_of(path)).name == "old" and TOOLS.load(autosave_of(path, 2)).name == "new"
    assert second.save() and second.settle()
    assert TOOLS.load(autosave_of(path)).name == "old" and not autosave_of(path, 2).exists()
    second.do(edits.SetDocument("name", "newer"))
    second.settle()
    third = tab()  # both are offered, one after the other
    assert third.recovery.name == "old"
    third.recover(False)
    assert third.recovery.name == "newer"
    third.recover(True)
    assert third.settle() and third.document.name == "newer" and third.recovery is None
    assert TOOLS.load(autosave_of(path)).name == "newer" and not autosave_of(path, 2).exists()
