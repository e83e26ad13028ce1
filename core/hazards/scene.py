"""What a finding is about, as those who look for a repair see it: its tasks, pipelines and ops, and where each stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..document import Document, Engine, Node, Op, OpKind, Resource, Task, Token
from ..edits import Place, body_of, places
from ..findings import Finding
from ..footprints import engine_of
from ..tree import find_resource, find_work, walk


@dataclass(frozen=True)
class Side:
    """One side of a pipeline: what opens and closes its bracket, and the role of the works between."""

    role: str
    opening: OpKind
    closing: OpKind


SIDES = (
    Side("producer", OpKind.ACQUIRE, OpKind.COMMIT),
    Side("consumer", OpKind.WAIT, OpKind.RELEASE),
)


class Scene:
    """The surroundings of ``finding`` in ``document``."""

    def __init__(self, document: Document, finding: Finding) -> None:
        self.document, self.finding = document, finding
        self.places = {p.node.id: p for p in places(document)}
        self.named = [self.places[id] for id in finding.ops if id in self.places]
        self.tasks = [t for t in document.tasks if t.name in {*finding.tasks, *(p.task for p in self.named)}]

    @cached_property
    def pipelines(self) -> list[Resource]:
        """The pipelines that it names, or whose ops it names."""
        names = dict.fromkeys((*self.finding.resources, *(getattr(p.node, "target", "") for p in self.named)))
        found = (find_resource(self.document, name) for name in names)
        return [r for r in found if r is not None and r.pipeline is not None]

    def body(self, parent: str) -> tuple[Node, ...]:
        """The nodes of a task or block."""
        return body_of(self.document, parent) or ()

    def ops(self, task: Task, *kinds: OpKind, target: str | None = None) -> list[Place]:
        """Where the ops of ``task`` of these kinds are."""
        found = (self.places[n.id] for n in walk(task.body) if isinstance(n, Op) and n.kind in kinds)
        return [p for p in found if target in (None, getattr(p.node, "target", None))]

    def uses(self, task: Task, resource: Resource, role: str) -> list[Place]:
        """Where ``task`` works on a stage of ``resource``: its works of that role, and the works that its views go into."""
        found, views = [], set()
        for place in self.ops(task, OpKind.WORK):
            op = place.node
            assert isinstance(op, Op)
            work = find_work(resource, op.work) if op.target == resource.name else None
            if work is not None and work.role == role and not work.auxiliary:
                found.append(place)
                views.update(op.results)
            elif any(isinstance(value, Token) and value.name in views for _, value in op.args):
                found.append(place)
        return found

    def engine(self, op: Node) -> Engine | None:
        """The engine that a work op starts, None for other ops."""
        if not isinstance(op, Op) or op.kind is not OpKind.WORK:
            return None
        resource = find_resource(self.document, op.target)
        work = find_work(resource, op.work)
        return engine_of(resource, work) if resource is not None and work is not None else None

    def within(self, parent: str, place: Place) -> int | None:
        """Which child of ``parent`` is, or holds, the node at ``place``; None if none does."""
        while place.parent != parent:
            if place.parent == place.task:
                return None
            place = self.places[place.parent]
        return place.index

    def chain(self, place: Place) -> Iterator[Place]:
        """``place``, then the block that it is in, and so on outwards."""
        yield place
        while place.parent != place.task:
            place = self.places[place.parent]
            yield place

    def common(self, first: Place, second: Place) -> tuple[str, int, int] | None:
        """The innermost body that holds both, with their positions in it."""
        for place in self.chain(first):
            other = self.within(place.parent, second)
            if other is not None:
                return place.parent, place.index, other
        return None
