"""Forms take back what they show, refuse what makes no sense, and everything that has one is added and removed."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.analysis import Here
from warpdraft.app.files import example_documents
from warpdraft.app.intents import carry_out
from warpdraft.app.session import Session
from warpdraft.app.tools import TOOLS
from warpdraft.app.values import known_names
from warpdraft.app.views.details import details_view
from warpdraft.core import edits, store
from warpdraft.core.document import Kernel
from warpdraft.core.findings import Report, Scope
from warpdraft.core.tree import find_resource

_spec = importlib.util.spec_from_file_location("everything", Path(__file__).parent / "everything.py")
everything = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(everything)
ALL = everything.ALL
QUICK = replace(
    TOOLS,
    verify=lambda document, early: Report(document.name, "safe", Scope("all")),
    predict=lambda *_: None,
    lower=lambda *_: None,
    to_python=lambda *_: None,
)


@pytest.fixture
def session():
    session = Session(ALL, None, QUICK, analyst=lambda: Here(QUICK))
    yield session
    session.close()


@pytest.mark.parametrize(
    "kind, name, key, text, said",
    [
        ("op", "t.05", "ctas", "1, x", "must be a whole number"),
        ("op", "t.05", "ctas", "everywhere", "must be ranks of CTAs"),
        ("op", "t.03", "footprint.ranges", "5", "write its offset + its bytes"),
        ("op", "t.08", "kind", "spiral", "must be domain or tile"),
        ("resource", "ring", "pipeline", False, "t.01 uses the pipeline of ring"),
        ("resource", "ring", "pipeline.interleave", "1, 2", "must be four strides"),
        ("resource", "ring", "pipeline.cta_layout", "0, 1, 1, 1", "must be four extents"),
        ("resource", "ring", "storage.parts", "a: 0", "write its offset + its bytes"),
        ("resource", "ring", "storage.parts", "a: 0+4, a: 4+4", "two parts are called 'a'"),
        ("resource", "ring", "storage.bytes", "-1", "must be a whole number"),
        ("resource", "queue", "params", "band", "is not understood"),
        ("resource", "queue", "params", "band=f()", "something else than constants"),
        ("resource", "go", "scope", "world", "must be cta or cluster"),
        ("resource", "go", "stages", "0", "must be a whole number above 0"),
        ("resource", "mmas", "kind", "tma", "must be wgmma"),
        ("work", "ring.fill", "name", "slice", "already taken"),
        ("work", "ring.fill", "ctas", "some", "must be ranks of CTAs"),
        ("symbol", "n", "name", "3x", "cannot name a symbol"),
        ("symbol", "n", "min", "-1", "0 or more"),
        ("document", "document", "cluster", "2", "must be three whole numbers"),
        ("document", "document", "roots", "ring", "ring is made from queue"),
        ("document", "document", "roots", "nobody", "no resource called nobody"),
        ("document", "document", "name", "", "must be a word"),
        ("kernel", "kernel", "trip_counts", "n=Q", "there is no symbol Q"),
        ("kernel", "kernel", "sizes", "M=0", "a number above 0"),
        ("kernel", "kernel", "sizes", "M='x'", "must be a whole number"),
        ("kernel", "kernel", "grid", "M +", "is not an expression"),
        ("tensor", "b", "order", "0, 0", "each of 0 to 1 once"),
        ("tensor", "b", "shape", "M.x", "not a whole number over symbols"),
    ],
)
def test_what_does_not_fit_is_refused_in_words_and_changes_nothing(session, kind, name, key, text, said):
    carry_out(session, {"type": "set", "kind": kind, "name": name, "key": key, "value": text, "revision": 0})
    assert session.notice is not None and session.notice.kind == "error" and said in session.notice.text
    assert "asked for something" not in session.notice.text
    assert session.document == ALL


KINDS = ("op", "resource", "work", "task", "symbol", "document", "kernel", "tensor")


@pytest.mark.parametrize("document", [ALL, *map(store.load, example_documents())], ids=lambda d: d.name)
def test_every_form_takes_back_what_it_shows(document):
    session = Session(document, None, QUICK, analyst=lambda: Here(QUICK))
    for kind in KINDS:
        for name in sorted(known_names(document, kind)):
            for field in details_view(document, None, kind, (name,))["fields"]:
                edit = {
                    "type": "set",
                    "kind": kind,
                    "name": name,
                    "key": field["key"],
                    "value": field["value"],
                }
                if field["key"] == "name" and kind not in ("document", "kernel", "work", "tensor"):
                    continue  # a name that is taken, by itself
                carry_out(session, {**edit, "revision": 0})
                assert session.notice is None, (edit, session.notice)
                assert session.document == document, edit
    session.close()


def test_what_has_a_form_of_its_own_is_added_and_removed(session):
    for what, name in (
        ("mbarrier", "late"),
        ("symbol", "m"),
        ("tensor", "c"),
        ("group", "more"),
        ("pipelines", "both"),
    ):
        carry_out(session, {"type": "add", "what": what, "name": name, "revision": 0})
        assert session.notice is None and session.selection.first == name
        kind = session.selection.kind
        assert details_view(session.document, None, kind, (name,))["kind"] == "form"
        carry_out(session, {"type": "remove", "kind": kind, "name": name, "revision": 0})
        assert session.notice is None and session.document == ALL
    carry_out(session, {"type": "remove", "kind": "kernel", "name": "kernel", "revision": 0})
    assert session.document.kernel is None
    carry_out(session, {"type": "add", "what": "kernel", "name": "again", "revision": 0})
    assert session.document.kernel == Kernel("again") and session.selection.kind == "kernel"
    carry_out(session, {"type": "remove", "kind": "work", "name": "ring.slice", "revision": 0})
    assert [work.name for work in find_resource(session.document, "ring").works] == ["fill"]
    assert edits.uses(session.document, "ring") == ("t.01", "t.02")
