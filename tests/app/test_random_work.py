"""Whatever a person does, in whatever order: the document stays consistent and everything can be undone."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpdraft.app.analysis import Here
from warpdraft.app.files import autosave_of
from warpdraft.app.intents import carry_out
from warpdraft.app.session import Session, open_session
from warpdraft.app.tools import TOOLS
from warpdraft.app.values import known_names
from warpdraft.app.views.details import details_view
from warpdraft.app.views.offers import offers
from warpdraft.app.views.schedule import schedule_view
from warpdraft.core import edits, store
from warpdraft.core.consistency import problem
from warpdraft.core.findings import Report, Scope

EXAMPLE = Path(__file__).parents[2] / "assets" / "examples" / "persistent_gemm.warpdraft.json"
QUICK = replace(
    TOOLS,
    verify=lambda document, early: Report(document.name, "safe", Scope("all")),
    predict=lambda *_: None,
    lower=lambda *_: None,
    to_python=lambda *_: None,
)
VALUES = (
    "",
    "0",
    "1",
    "3",
    "64",
    "k_tiles",
    "tiles",
    "smem_ab",
    "warp",
    "x",
    "-1",
    "acc, smem_c",
    "max(k_tiles, 2)",
    True,
    False,
    "peer",
    "0+64, 64+64",
    "part: 0+64",
    "1, 1, 2, 2",
    "band=8",
    "k_tiles=K // 2",
)


def intent(choose, document):
    """Something that the page could ask for, mostly sensible."""
    places = list(edits.places(document))
    place = choose(places) if places else None
    id = place.node.id if place else "nobody"
    task = choose(document.tasks) if document.tasks else None
    names = sorted(edits.declared_names(document)) or ["nobody"]
    kind = choose(KINDS)
    if kind == "set":
        of = choose(["op", "resource", "task", "work", "symbol", "document", "kernel", "tensor"])
        name = choose(sorted(known_names(document, of)) or ["nobody"])
        form = details_view(document, None, of, (name,))
        keys = [field["key"] for field in form.get("fields", ())] or ["stages"]
        options = [option for field in form.get("fields", ()) for option in field["options"]]
        value = choose([*VALUES, *options])
        return {"type": "set", "kind": of, "name": name, "key": choose(keys), "value": value}
    if kind == "insert" and task:
        offer = choose(offers(document, task))
        return {
            "type": "insert",
            "task": task.name,
            "offer": offer.key,
            "after": id,
            "parent": task.name,
            "index": 0,
        }
    if kind == "move":
        parent = choose([place.parent for place in places] or ["nobody"])
        return {"type": "move", "id": id, "parent": parent, "index": choose(range(9))}
    return {
        "shift": {"type": "shift", "id": id, "by": choose([-1, 1])},
        "delete": {"type": "delete", "ids": [id], "copies": choose([False, True])},
        "duplicate": {"type": "duplicate", "id": id},
        "unwrap": {"type": "unwrap", "id": id},
        "wrap": {
            "type": "wrap",
            "ids": [id],
            "task": place.task if place else "",
            "offer": "blocks|guard: only one lane of each warp",
        },
        "remove": {"type": "remove", "kind": "resource", "name": choose(names)},
        "rename": {
            "type": "set",
            "kind": "resource",
            "name": choose(names),
            "key": "name",
            "value": "renamed",
        },
        "split": {
            "type": "split",
            "task": task.name if task else "",
            "works": ["load_b"],
            "name": "other",
            "warp": "1",
        },
        "add": {
            "type": "add",
            "what": choose(["task", "resource", "ring", "barrier", "mbarrier", "group", "symbol", "tensor"]),
            "name": choose(["one", "two", "three"]),
        },
        "drop": {
            "type": "remove",
            "kind": (of := choose(["work", "symbol", "task", "edge", "kernel", "tensor"])),
            "name": choose(sorted(known_names(document, of)) or ["nobody"]),
        },
        "undo": {"type": "undo"},
    }.get(kind, {"type": "redo"})


KINDS = (
    *["set"] * 4,
    *["insert"] * 4,  # else deleting would win, and the walk end in an empty document
    "move",
    "shift",
    "delete",
    "duplicate",
    "unwrap",
    "wrap",
    "remove",
    "rename",
    "split",
    "add",
    "drop",
    "undo",
    "redo",
)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_work_can_be_saved_drawn_and_undone(data):
    first = store.load(EXAMPLE)
    session = Session(first, None, QUICK, analyst=lambda: Here(QUICK))

    def choose(options):
        return data.draw(st.sampled_from(options))

    try:
        for _ in range(data.draw(st.integers(1, 12))):
            carry_out(session, {"revision": session.revision, **intent(choose, session.document)})
            assert problem(session.document) is None
            schedule_view(session.document)
        assert store.loads(store.dumps(session.document)) == session.document
        while session.history.past:
            session.undo()
        assert session.document == first
    finally:
        session.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_long_walk_is_undone_to_the_beginning(seed, tmp_path):
    path = tmp_path / "walk.warpdraft.json"
    first = store.load(EXAMPLE)
    store.save(first, path)
    session = open_session(path, QUICK, analyst=lambda: Here(QUICK))
    choose = random.Random(seed).choice
    try:
        for _ in range(600):
            carry_out(session, {"revision": session.revision, **intent(choose, session.document)})
        assert session.revision > 150 and problem(session.document) is None
        furthest = session.document
        assert session.settle()
        assert TOOLS.load(autosave_of(path)) == furthest if session.dirty else True
        steps = len(session.history.past)
        while session.history.past:
            session.undo()
        assert session.document == first == store.load(path) and not session.dirty
        for _ in range(steps):
            session.redo()
        assert session.document == furthest
    finally:
        session.close()
