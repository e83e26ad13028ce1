"""Saving replaces nothing that another has written, and no unsaved changes that wait for a decision."""

import subprocess
import sys
import time
from dataclasses import replace

import pytest

from warpdraft.app.analysis import Here
from warpdraft.app.files import MOST_KEPT, autosave_of
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
    assert TOOLS.load(autosave_of(path, 2)).name == "newer" and not autosave_of(path).exists()


@pytest.fixture
def tabs(path):
    """Opens tabs that are living until they are closed."""
    opened = []

    def open():
        here = {"yes": True}
        session = open_session(path, QUICK, analyst=lambda: Here(QUICK), living=lambda: here["yes"])
        opened.append(session)
        session.leave = lambda: (here.update(yes=False), session.close())
        session.vanish = lambda: here.update(yes=False)
        return session

    yield open
    for session in opened:
        session.close()


def until(holds, seconds=10):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds()


def test_two_tabs_on_one_file_know_each_other_and_keep_their_changes_apart(tabs, path):
    first, second = tabs(), tabs()
    assert until(lambda: first.others == second.others == 1)
    first.do(target(first))
    second.do(edits.SetDocument("cluster", (2, 1, 1)))
    assert first.settle() and second.settle() and second.recovery is None
    assert TOOLS.load(autosave_of(path)) == first.document
    assert TOOLS.load(autosave_of(path, 2)) == second.document
    first.undo()
    assert first.settle() and not autosave_of(path).exists() and autosave_of(path, 2).exists()
    first.do(target(first))
    assert first.settle()
    both = [first.document, second.document]
    first.leave()
    assert until(lambda: second.others == 0) and autosave_of(path).exists()
    second.leave()
    third = tabs()
    assert third.recovery == both[0]
    third.recover(False)
    assert third.recovery == both[1]
    third.recover(True)
    assert third.settle() and third.document == both[1]
    assert [autosave_of(path, n).exists() for n in (1, 2)] == [False, True]


def test_a_page_that_never_connects_is_no_tab(path):
    """Somebody only looks whether the port answers: no tab is told of it, and it takes no place."""
    probe = open_session(path, QUICK, analyst=lambda: Here(QUICK), living=lambda: False)
    tab = open_session(path, QUICK, analyst=lambda: Here(QUICK), living=lambda: True)
    tab.arrive()
    assert tab.others == 0
    tab.do(target(tab))
    assert tab.settle() and TOOLS.load(autosave_of(path)) == tab.document
    for session in (probe, tab):
        session.close()


def test_who_arrives_is_told_to_the_others(path):
    here = {"yes": False}
    first = open_session(path, QUICK, analyst=lambda: Here(QUICK), living=lambda: True)
    second = open_session(path, QUICK, analyst=lambda: Here(QUICK), living=lambda: here["yes"])
    first.arrive()
    assert first.others == 0
    here["yes"] = True
    second.arrive()
    assert second.others == 1 and until(lambda: first.others == 1)
    for session in (first, second):
        session.close()


def test_what_is_recovered_lies_in_one_file_until_it_is_saved(tabs, path):
    """Killed at any moment, the newest state is offered, and nothing twice or older beside it."""
    TOOLS.save(edits.SetDocument("cluster", (4, 1, 1)).apply(TOOLS.load(path)), autosave_of(path, 2))
    TOOLS.save(edits.SetDocument("cluster", (4, 1, 1)).apply(TOOLS.load(path)), autosave_of(path, 5))
    first = tabs()
    assert first.recovery.cluster == (4, 1, 1)
    first.recover(True)
    assert first.recovery is None and first.settle()
    first.do(target(first))
    assert first.settle() and [file.name for file in path.parent.glob("*.autosave*")] == [
        f"{path.name}.autosave2"
    ]
    first.vanish()
    second = tabs()
    assert second.recovery == first.document
    second.recover(True)
    assert second.recovery is None and second.settle()


def test_unsaved_changes_of_who_has_vanished_are_not_written_over(path):
    """Neither offered (its tab was living when this one was opened) nor replaced."""
    here = {"yes": True}
    first = open_session(path, QUICK, analyst=lambda: Here(QUICK), living=lambda: here["yes"])
    first.do(target(first))
    assert first.settle()
    second = open_session(path, QUICK, analyst=lambda: Here(QUICK))
    here["yes"] = False
    second.do(edits.SetDocument("cluster", (2, 1, 1)))
    assert second.settle() and TOOLS.load(autosave_of(path)) == first.document
    assert TOOLS.load(autosave_of(path, 2)) == second.document
    for session in (first, second):
        session.close()


def test_where_too_many_unsaved_states_lie_the_offers_still_stand(path):
    """No number is left for the tab's own changes, until one of those that are offered is decided about."""
    for number in range(1, 2 * MOST_KEPT + 2):
        TOOLS.save(replace(TOOLS.load(path), cluster=(number + 1, 1, 1)), autosave_of(path, number))
    session = open_session(path, QUICK, analyst=lambda: Here(QUICK), living=lambda: True)
    session.arrive()
    offered = session.recovery
    assert offered is not None
    session.do(target(session))
    assert "too many unsaved states" in session.notice.text
    session.undo()
    session.recover(True)
    assert session.settle() and session.document == offered
    session.do(target(session))
    assert session.settle() and TOOLS.load(autosave_of(path)) == session.document
    session.close()


def test_two_tabs_that_take_up_the_same_changes_keep_them_apart(tabs, path):
    TOOLS.save(edits.SetDocument("cluster", (4, 1, 1)).apply(TOOLS.load(path)), autosave_of(path))
    first, second = tabs(), tabs()
    for tab in (first, second):
        tab.recover(True)
        assert tab.settle()
    assert TOOLS.load(autosave_of(path)) == first.document
    assert TOOLS.load(autosave_of(path, 2 if autosave_of(path, 2).exists() else 3)) == second.document


def test_who_saves_second_is_asked(tabs, path):
    first, second = tabs(), tabs()
    first.do(target(first))
    second.do(edits.SetDocument("cluster", (2, 1, 1)))
    assert first.save() and not second.save() and "another program or tab" in second.notice.text
    assert TOOLS.load(path) == first.document


def test_a_reloaded_tab_is_offered_what_it_had(tabs, path):
    """The new page is made while the old one is still connected."""
    old = tabs()
    old.do(target(old))
    assert old.settle()
    new = tabs()
    assert new.recovery is None and until(lambda: new.others == 1)
    old.vanish()
    new.meet()  # its page has been loaded
    assert (new.others, new.recovery) == (0, old.document)
    new.recover(True)
    assert new.settle() and TOOLS.load(autosave_of(path)) == old.document
    assert not autosave_of(path, 2).exists()


def test_another_process_on_the_file_is_noticed(tabs, path):
    code = (
        "import sys, time; from pathlib import Path; from warpdraft.app.session import open_session; "
        "from warpdraft.core import edits; s = open_session(Path(sys.argv[1]), living=lambda: True); "
        "s.do(edits.SetDocument('cluster', (4, 1, 1))); s._autosave.wait(); print('kept', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "kept\n"
        session = tabs()
        session.meet()
        assert session.others == 1 and session.recovery is None
        session.do(target(session))
        assert session.settle() and TOOLS.load(autosave_of(path)).cluster == (4, 1, 1)
        assert TOOLS.load(autosave_of(path, 2)) == session.document
    finally:
        other.kill()
        other.communicate()
    assert tabs().recovery.cluster == (4, 1, 1)
