"""Intents of the page change the session, or are told to the person; none ever raises."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.app.analysis import Here
from warpdraft.app.intents import ACTIONS, carry_out
from warpdraft.app.session import Session
from warpdraft.app.tools import TOOLS
from warpdraft.app.views.details import details_view
from warpdraft.app.views.offers import offers
from warpdraft.core import edits
from warpdraft.core.consistency import problem
from warpdraft.core.document import Document, OpKind
from warpdraft.core.findings import Report, Scope
from warpdraft.core.tree import find_node, find_resource, find_task, ops_of, placed

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parent / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)

QUICK = replace(
    TOOLS,
    verify=lambda d: Report(d.name, "safe", Scope("all")),
    predict=lambda *_: None,
    lower=lambda *_: None,
    to_python=lambda *_: None,
)


@pytest.fixture
def session():
    session = Session(sample.gemm(), None, QUICK, analyst=lambda: Here(QUICK))
    yield session
    session.close()


def do(session, **intent):
    carry_out(session, {"revision": session.revision, **intent})
    return session.document


def op_id(document, task, kind, nth=0):
    return [op.id for op in ops_of(find_task(document, task)) if op.kind is kind][nth]


def order(document, task):
    return [p.node.id for p in placed(document) if p.task.name == task]


def test_shifting_goes_through_blocks_and_back(session):
    id = op_id(session.document, "math", OpKind.GROUP_WAIT)
    before, steps = order(session.document, "math"), 0
    while session.notice is None and steps < 200:
        do(session, type="shift", id=id, by=1)
        steps += 1
    assert "end of its task" in session.notice.text
    session.notice, steps = None, 0
    while session.notice is None and steps < 200:
        do(session, type="shift", id=id, by=-1)
        steps += 1
    assert "start of its task" in session.notice.text
    while session.history.past:
        session.undo()
    assert order(session.document, "math") == before


def test_a_stale_position_is_refused_a_relative_move_is_not(session):
    id = op_id(session.document, "load", OpKind.COMMIT)
    parent = find_node(session.document, id).parents[-1].id
    carry_out(
        session, {"type": "move", "id": id, "parent": parent, "index": 0, "revision": session.revision - 1}
    )
    assert session.notice.kind == "info" and not session.history.past
    carry_out(session, {"type": "shift", "id": id, "by": -1, "revision": session.revision - 1})
    assert session.history.past


def test_every_offer_can_be_inserted_and_leaves_a_consistent_document(session):
    for task in session.document.tasks:
        for offer in offers(session.document, task):
            document = do(session, type="insert", task=task.name, offer=offer.key, parent=task.name, index=0)
            assert session.notice is None, (offer, session.notice)
            assert problem(document) is None
            new = session.selection.first
            assert edits.find(document, new).index == 0
            assert details_view(document, None, "op", (new,))["kind"] == "form"


def test_every_field_of_every_form_takes_back_its_own_value(session):
    document = session.document
    things = [("op", p.node.id) for p in placed(document)]
    things += [("resource", name) for name in sorted(edits.declared_names(document))] + [
        ("task", t.name) for t in document.tasks
    ]
    for kind, name in things:
        form = details_view(document, None, kind, (name,))
        for field in form["fields"]:
            if field["key"] == "name":
                continue
            do(session, type="set", kind=kind, name=name, key=field["key"], value=field["value"])
            assert session.notice is None, (kind, name, field, session.notice)
            assert session.document == document, (kind, name, field)


def test_fields_are_set(session):
    document = do(session, type="set", kind="resource", name="smem_ab", key="pipeline.stages", value="3")
    assert find_resource(document, "smem_ab").pipeline.stages == 3
    document = do(session, type="set", kind="task", name="math", key="num_registers", value="")
    assert find_task(document, "math").num_registers is None
    session.select("task", ("math",))
    do(session, type="set", kind="task", name="math", key="name", value="mma")
    assert session.selection.first == "mma"
    do(session, type="set", kind="resource", name="smem_ab", key="pipeline.stages", value="x")
    assert session.notice.kind == "error"


def test_insert_after_an_empty_block_goes_into_it(session):
    do(
        session,
        type="insert",
        task="math",
        offer="blocks|guard: only one lane of each warp",
        parent="math",
        index=0,
    )
    guard = session.selection.first
    do(session, type="insert", task="math", offer="fences and warps|sync_warp()", after=guard)
    assert find_node(session.document, session.selection.first).parents[-1].id == guard


def test_delete_selects_what_follows(session):
    ids = order(session.document, "load")
    do(session, type="delete", ids=[ids[2], ids[3]])
    assert session.selection.ids == (ids[4],) and ids[2] not in order(session.document, "load")
    session.undo()
    assert order(session.document, "load") == ids


def test_wrap_unwrap_duplicate_split_add_remove(session):
    ids = order(session.document, "load")
    do(session, type="wrap", task="load", ids=ids[2:4], offer="blocks|guard: only one lane of each warp")
    wrapped = find_node(session.document, ids[2]).parents[-1].id
    do(session, type="unwrap", id=wrapped)
    assert order(session.document, "load") == ids
    do(session, type="duplicate", id=ids[2])
    assert len(order(session.document, "load")) == len(ids) + 1
    session.undo()
    do(session, type="split", task="load", works=["load_b"], name="load_b", warp="9")
    assert find_task(session.document, "load_b").warp_idx == 9 and session.selection.first == "load_b"
    for what in ("task", "resource", "ring", "barrier", "group"):
        do(session, type="add", what=what, name=f"new_{what}")
        assert session.selection.first == f"new_{what}", session.notice
    do(session, type="add_edge", up="gmem_a", down="new_ring")
    do(session, type="remove", kind="edge", name="gmem_a->new_ring")
    do(session, type="remove", kind="resource", name="new_ring")
    do(session, type="remove", kind="task", name="new_task")
    assert session.notice is None and problem(session.document) is None


def test_trip_counts(session):
    do(session, type="trips", name="k_tiles", value="12")
    assert session.trip_counts["k_tiles"] == 12
    do(session, type="trips", name="k_tiles", value="99999")
    assert session.notice.kind == "error" and session.trip_counts["k_tiles"] == 12
    do(session, type="trips", name="k_tiles", value="0")
    assert session.notice.text == "k_tiles must lie in 1 .. 4096" and session.trip_counts["k_tiles"] == 12


@pytest.mark.parametrize(
    "kind, name, key, value, said",
    [
        ("resource", "smem_ab", "pipeline.producer_count", "x", "arrivals on full must be a whole number"),
        ("task", "math", "num_warps", "0", "warps of math must be a whole number above 0"),
        ("task", "math", "num_warps", "1000000000", "a task has at most 1024 warps"),
        ("symbol", "k_tiles", "min", "", "the least k_tiles must be a whole number"),
    ],
)
def test_refusals_use_the_words_of_the_forms(session, kind, name, key, value, said):
    do(session, type="set", kind=kind, name=name, key=key, value=value)
    assert session.notice.text.startswith(said)


@pytest.mark.parametrize("type", sorted(ACTIONS))
@pytest.mark.parametrize(
    "rest", [{}, {"id": "x", "ids": ["x"], "name": 3, "kind": [], "value": None, "index": "q", "offer": 1}]
)
def test_nonsense_never_raises_and_changes_nothing(session, type, rest):
    document = session.document
    assert carry_out(session, {"type": type, "revision": 0, **rest})
    assert session.document == document


def test_unknown_intents_are_not_the_documents(session):
    assert not carry_out(session, {"type": "dance"})


def test_a_document_from_nothing(session, tmp_path):
    session.start(Document("untitled"), tmp_path / "untitled.warpdraft.json")
    assert (session.document.name, session.dirty, session.history.past) == ("untitled", True, ())
    for intent in (
        {"type": "set", "kind": "document", "name": "", "key": "target", "value": "sm_100a"},
        {"type": "add", "what": "symbol", "name": "k_tiles"},
        {"type": "set", "kind": "symbol", "name": "k_tiles", "key": "min", "value": "2"},
        {"type": "add", "what": "ring", "name": "ring"},
        {
            "type": "add",
            "what": "work",
            "resource": "ring",
            "name": "fill",
            "role": "producer",
            "engine": "tma",
            "parameters": "",
            "returns": "",
        },
        {"type": "add", "what": "task", "name": "load"},
        {"type": "set", "kind": "task", "name": "load", "key": "dst", "value": "ring"},
        {
            "type": "insert",
            "task": "load",
            "offer": "blocks|loop: for k in 0 .. k_tiles",
            "parent": "load",
            "index": 0,
        },
        {"type": "insert", "task": "load", "offer": "ring|ring.acquire()", "after": "load.00"},
        {"type": "insert", "task": "load", "offer": "ring|ring.fill()", "after": "load.01"},
    ):
        do(session, **intent)
        assert session.notice is None, (intent, session.notice)
    assert [op.work or op.kind for op in ops_of(find_task(session.document, "load"))] == [
        OpKind.ACQUIRE,
        "fill",
    ]
    assert problem(session.document) is None and session.document.target == "sm_100a"
    do(session, type="remove", kind="work", name="ring.fill")
    do(session, type="remove", kind="symbol", name="k_tiles")
    assert "bounds the loop" in session.notice.text
