"""When two documents are the same schedule: equal apart from ids, source positions, what a run time adds, which accesses are
assumed, and what means nothing: the order of arguments and edges, and the stage of an op whose pipeline chooses it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass, replace
from typing import Any

from .document import Document, Op, Resource, Work
from .schema import encode

OWN_BODY = "own"  # stands for module:Class.method, where that is the work itself
POSITIONS = {
    "id": "",
    "copy_of": "",
    "source": None,
    "cls": "",
    "assumed": False,  # how much is known of a work, not what it is
}  # where something was captured, not what it is
NUMBERED = ("NamedBarrier",)  # whose ``id`` is the hardware's


def equal_schedules(a: Document, b: Document) -> bool:
    """Whether ``a`` and ``b`` differ at most in ids, source positions, and the order of arguments and graph edges."""
    return without_positions(a) == without_positions(b)


def digest(document: Document) -> str:
    """Sixteen hexadecimal digits that equal schedules share, whatever their names and default sizes are."""
    bare = without_positions(document)
    kernel = bare.kernel and replace(bare.kernel, name="", sizes=(), small_sizes=())
    text = json.dumps(encode(replace(bare, name="", kernel=kernel), Document), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def without_positions(document: Document) -> Document:
    """``document`` with ids and source positions blanked, arguments and edges sorted."""
    resources = tuple(replace(r, works=tuple(_own_body(r, w) for w in r.works)) for r in document.resources)
    rings = frozenset(r.name for r in document.resources if r.pipeline)
    bare = _bare(replace(document, resources=resources), rings)
    edges = tuple(sorted(bare.graph, key=lambda e: (e.downstream, e.upstream)))
    return replace(bare, graph=edges, roots=tuple(sorted(bare.roots)))


def _own_body(resource: Resource, work: Work) -> Work:
    """``work`` with a body that names no module, where it is that of its class, or its source is there."""
    own = work.body == f"{resource.cls}.{work.name}" or (work.code and ":" in work.body)
    return replace(work, body=OWN_BODY) if own else work


def _bare(value: Any, rings: frozenset[str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_bare(v, rings) for v in value if not (isinstance(v, Op) and v.implicit))
    if not is_dataclass(value):
        return value
    numbered = type(value).__name__ in NUMBERED
    changed = {
        f.name: POSITIONS[f.name]
        if f.name in POSITIONS and not (numbered and f.name == "id")
        else _bare(getattr(value, f.name), rings)
        for f in fields(value)
    }
    if isinstance(value, Op):
        changed["args"] = tuple(sorted(changed["args"], key=lambda pair: pair[0]))
        if value.target in rings:
            changed["stage"] = None
    return replace(value, **changed)
