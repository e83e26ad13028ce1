"""What the page may ask for. Python owns the state: the page sends an intent with the revision that it showed, and is
answered with the new state; an intent that counts positions in an older document is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from warpdraft.core import edits
from warpdraft.core.document import (
    AsyncGroup,
    Engine,
    Mbarrier,
    NamedBarrier,
    Pipeline,
    PipelineGroup,
    PipelineGroupMode,
    Resource,
    Space,
    Storage,
    Task,
    Tensor,
    Work,
)
from warpdraft.core.edits import EditError
from warpdraft.core.pipeline_groups import group_of
from warpdraft.core.tree import find_task

from . import typed
from .field_edits import field_edit
from .session import Session
from .views.details import find as find_finding
from .views.forms import KERNEL
from .views.offers import Offer, offers
from .views.words import node_text

Intent = Mapping[str, Any]


class Stale(Exception):
    """The intent counts positions in a document that is no longer the present one."""


def carry_out(session: Session, intent: Intent) -> bool:
    """Do what the page asks for; False for an intent that is not one of the document's. What cannot be done is told to
    the person."""
    action = ACTIONS.get(str(intent.get("type")))
    if action is None:
        return False
    try:
        action(session, intent)
    except (EditError, typed.NotUnderstood) as error:
        session.say("error", typed.plain(str(error)))
    except Stale:
        session.say("info", "The schedule had changed meanwhile: please try again")
    except (KeyError, TypeError, ValueError) as error:
        session.say("error", f"The page asked for something that makes no sense: {error!r}")
    return True


def _fresh(session: Session, intent: Intent) -> None:
    if intent["revision"] != session.revision:
        raise Stale


def _move(session: Session, intent: Intent) -> None:
    _fresh(session, intent)
    node = edits.find(session.document, intent["id"])
    move = edits.MoveNode(intent["id"], intent["parent"], intent["index"], bool(intent.get("copies")))
    session.do(move, f"Move {node_text(node.node) if node else intent['id']}")


def _shift(session: Session, intent: Intent) -> None:
    """One step up or down in schedule order: past its neighbour, or into or out of a block."""
    session.do(shifted(session, intent["id"], intent["by"], bool(intent.get("copies"))), "Move")


def shifted(session: Session, id: str, by: int, copies: bool = False) -> edits.MoveNode:
    """The move by one step: a block's edge and a neighbouring block are each one step."""
    place = edits.find(session.document, id)
    if place is None:
        raise EditError(f"there is no operation {id}")
    body = edits.body_of(session.document, place.parent) or ()
    index = place.index + by
    if copies:
        return edits.MoveNode(id, place.parent, index, True)
    if 0 <= index < len(body):
        neighbour = body[index]
        inner = getattr(neighbour, "body", None)
        if inner is None:
            return edits.MoveNode(id, place.parent, index)
        return edits.MoveNode(id, neighbour.id, 0 if by > 0 else len(inner))
    outer = edits.find(session.document, place.parent)
    if outer is None:
        raise EditError(
            "it is already at the end of its task" if by > 0 else "it is already at the start of its task"
        )
    return edits.MoveNode(id, outer.parent, outer.index + (1 if by > 0 else 0))


def _insert(session: Session, intent: Intent) -> None:
    offer = _offer(session, intent["task"], intent["offer"])
    before = {place.node.id for place in edits.places(session.document)}
    parent, index = _after(session, intent)
    if session.do(edits.InsertNode(parent, index, offer.node), f"Insert {offer.label}"):
        new = [place.node.id for place in edits.places(session.document) if place.node.id not in before]
        session.select("op", tuple(new[:1]))


def _after(session: Session, intent: Intent) -> tuple[str, int]:
    """Where to insert: at a position of a block, or right after a node (an empty block takes it in)."""
    if intent.get("after"):
        place = edits.find(session.document, intent["after"])
        if place is not None:
            if getattr(place.node, "body", None) == ():
                return place.node.id, 0
            return place.parent, place.index + 1
    _fresh(session, intent)
    return intent["parent"], intent["index"]


def _offer(session: Session, task: str, key: str) -> Offer:
    found = find_task(session.document, task)
    for offer in offers(session.document, found) if found else ():
        if offer.key == key:
            return offer
    raise EditError(f"{key} cannot be inserted into {task}")


def _delete(session: Session, intent: Intent) -> None:
    ids = tuple(intent["ids"])
    order = [place.node.id for place in edits.places(session.document)]
    doomed: list[edits.Edit] = []
    gone: set[str] = set()
    for id in ids:
        place = edits.find(session.document, id)
        if place is None or id in gone:
            continue
        gone |= {id, *(n.id for n in _below(place.node))}
        doomed.append(edits.DeleteNode(id, bool(intent.get("copies"))))
    next_id = (
        next((id for id in order[order.index(ids[0]) :] if id not in gone), "") if ids[0] in order else ""
    )
    if doomed and session.do_all(tuple(doomed), "Delete"):
        session.select("op", (next_id,))


def _below(node: Any) -> list[Any]:
    inner = list(getattr(node, "body", ()))
    return inner + [deep for child in inner for deep in _below(child)]


def _duplicate(session: Session, intent: Intent) -> None:
    place = edits.find(session.document, intent["id"])
    if session.do(edits.DuplicateNode(intent["id"]), "Duplicate") and place is not None:
        twin = (edits.body_of(session.document, place.parent) or ())[place.index + 1]
        session.select("op", (twin.id,))


def _wrap(session: Session, intent: Intent) -> None:
    offer = _offer(session, intent["task"], intent["offer"])
    session.do(edits.WrapNodes(tuple(intent["ids"]), offer.node), f"Wrap in {offer.label}")


def _unwrap(session: Session, intent: Intent) -> None:
    session.do(edits.UnwrapNode(intent["id"]), "Unwrap")


def _set(session: Session, intent: Intent) -> None:
    kind, name, key = intent["kind"], intent["name"], intent["key"]
    edit = field_edit(session.document, kind, name, key, intent["value"], bool(intent.get("copies")))
    selected = session.selection
    if session.do(edit, f"Set {key.rpartition('.')[2]} of {name}") and key == "name":
        if kind not in ("document", "kernel") and selected.kind == kind and selected.first == name:
            new = intent["value"].strip()
            session.select(kind, (f"{name.rpartition('.')[0]}.{new}" if kind == "work" else new,))


def _add(session: Session, intent: Intent) -> None:
    name = str(intent["name"]).strip()
    document = session.document
    match intent["what"]:
        case "task":
            first = max((t.warp_idx + t.num_warps for t in document.tasks), default=0)
            edit: edits.Edit = edits.AddTask(Task(name, first, 1))
        case "resource":
            edit = edits.Add(Resource(name))
        case "ring":
            edit = edits.Add(Resource(name, Space.SMEM, Pipeline(2), Storage(16384, 2)))
        case "barrier":
            taken = {barrier.id for barrier in document.barriers}
            edit = edits.Add(NamedBarrier(name, next((i for i in range(1, 16) if i not in taken), 15), 128))
        case "group":
            edit = edits.Add(AsyncGroup(name, Engine(intent.get("kind", "wgmma"))))
        case "mbarrier":
            edit = edits.Add(Mbarrier(name))
        case "pipelines":
            free = [r.name for r in document.resources if r.pipeline and not group_of(document, r.name)]
            if not free:
                raise EditError("a pipeline group needs a resource with a pipeline that is in no group yet")
            edit = edits.Add(PipelineGroup(name, PipelineGroupMode.Merge, tuple(free[:1])))
        case "symbol":
            edit = edits.SetSymbol(name)
        case "kernel":
            edit = edits.AddKernel(name)
        case "tensor":
            edit = edits.AddTensor(Tensor(name, (), "fp16", ()))
        case "work":
            engine = Engine(intent["engine"]) if intent.get("engine") else None
            parameters, returns = typed.names(str(intent["parameters"])), typed.names(str(intent["returns"]))
            work = Work(name, str(intent["role"]), engine, bool(intent.get("view")), parameters, returns)
            session.do(edits.AddWork(str(intent["resource"]), work), f"Add {name}")
            return
        case other:
            raise EditError(f"a {other} cannot be added")
    if session.do(edit, f"Add {name}"):
        kind = intent["what"] if intent["what"] in ("task", "symbol", "tensor", "kernel") else "resource"
        session.select(kind, (KERNEL if kind == "kernel" else name,))


def _add_edge(session: Session, intent: Intent) -> None:
    up, down = intent["up"], intent["down"]
    if session.do(edits.AddEdge(up, down), f"{down} depends on {up}"):
        session.select("edge", (f"{up}->{down}",))


def _remove(session: Session, intent: Intent) -> None:
    name = intent["name"]
    match intent["kind"]:
        case "task":
            edit: edits.Edit = edits.RemoveTask(name)
        case "edge":
            up, _, down = name.partition("->")
            edit = edits.RemoveEdge(up, down)
        case "work":
            owner, _, called = name.rpartition(".")
            edit = edits.RemoveWork(owner, called)
        case "symbol":
            edit = edits.RemoveSymbol(name)
        case "kernel":
            edit = edits.RemoveKernel()
        case "tensor":
            edit = edits.RemoveTensor(name)
        case _:
            edit = edits.Remove(name)
    session.do(edit, f"Remove {name}")


def _split(session: Session, intent: Intent) -> None:
    warp = typed.needed_number(str(intent["warp"]), "the new task's warp")
    edit = edits.SplitTask(intent["task"], tuple(intent["works"]), str(intent["name"]).strip(), warp)
    if session.do(edit, f"Split {intent['task']}"):
        session.select("task", (edit.name,))


def _fix(session: Session, intent: Intent) -> None:
    finding = find_finding(session.report.value, intent["key"])
    if finding is None or session.checking:
        raise Stale
    fix = (session.fixes.get(intent["key"]) or finding.fixes)[intent["index"]]
    session.do_all(fix.edits, fix.title)


def _select(session: Session, intent: Intent) -> None:
    session.select(str(intent["kind"]), tuple(map(str, intent["ids"])))


def _trips(session: Session, intent: Intent) -> None:
    value = typed.needed_number(str(intent["value"]), intent["name"])
    least = next((s.min for s in session.document.symbols if s.name == intent["name"]), 0)
    if not least <= value <= 4096:
        raise typed.NotUnderstood(f"{intent['name']} must lie in {least} .. 4096")
    session.set_trip_counts({intent["name"]: value})


ACTIONS: dict[str, Callable[[Session, Intent], None]] = {
    "add": _add,
    "add_edge": _add_edge,
    "delete": _delete,
    "duplicate": _duplicate,
    "fix": _fix,
    "insert": _insert,
    "move": _move,
    "recover": lambda session, intent: session.recover(bool(intent["accept"])),
    "redo": lambda session, intent: session.redo(),
    "reload": lambda session, intent: session.path and session.open(session.path) and None,
    "remove": _remove,
    "save": lambda session, intent: session.save(over=bool(intent.get("over"))) and None,
    "select": _select,
    "set": _set,
    "shift": _shift,
    "split": _split,
    "trips": _trips,
    "undo": lambda session, intent: session.undo(),
    "unwrap": _unwrap,
    "wrap": _wrap,
}
