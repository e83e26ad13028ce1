"""Takes the ops that stand for a body's accesses of other resources (`..apply`) out of a document, as annotations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from warpdraft.core.cursors import CONSUMING, PRODUCING
from warpdraft.core.document import Document, Guard, Loop, Node, Op, OpKind, Resource, Task
from warpdraft.core.tree import find_resource, find_work, ops_of

from ..annotations import Access
from .accesses import access_of, in_short
from .errors import NotExpressible

VERBS = ("written_by_", "seen_by_", "read_by_")
Key = tuple[str, str]  # resource, work


@dataclass
class Others:
    """What one work reads and writes beside its own stage."""

    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()


def without_others(document: Document) -> tuple[Document, dict[Key, Others]]:
    """``document`` without ops that stand for what bodies do to other resources, and those accesses by the work whose body
    it is. Raises NotExpressible where the calls of a work differ in them."""
    standing = _standing(document)
    if not standing:
        return document, {}
    taken = _Taken(document, standing)
    tasks = tuple(
        _declaring(document, t, replace(t, body=tuple(taken.nodes(t.body))), standing) for t in document.tasks
    )
    resources = tuple(taken.resource(r) for r in document.resources)
    return replace(document, tasks=tasks, resources=resources), taken.found


def _declaring(document: Document, before: Task, task: Task, standing: dict[Key, Key]) -> Task:
    """``task`` without the sources and destinations that nothing but what was taken out of ``before`` made it declare."""
    left = {
        role: {
            op.target
            for op in ops_of(before)
            if (op.target, op.work) in standing and _role(document, op) == role
        }
        - {op.target for op in ops_of(task) if _role(document, op) == role}
        for role in ("consumer", "producer")
    }
    return replace(
        task,
        src=tuple(n for n in task.src if n not in left["consumer"]),
        dst=tuple(n for n in task.dst if n not in left["producer"]),
    )


def _role(document: Document, op: Op) -> str:
    """The side of its resource that ``op`` is on, "" for none."""
    if op.kind in CONSUMING or op.kind in PRODUCING:
        return "consumer" if op.kind in CONSUMING else "producer"
    work = find_work(find_resource(document, op.target), op.work)
    return work.role if work is not None else ""


def _standing(document: Document) -> dict[Key, Key]:
    """The works that stand for an access, with the work whose body makes it."""
    found: dict[Key, Key] = {}
    owners = {f"{r.name}_{w.name}": (r.name, w.name) for r in document.resources for w in r.works}
    for resource in document.resources:
        for work in resource.works:
            verb = next((v for v in VERBS if work.name.startswith(v)), "")
            rest = work.name.removeprefix(verb)
            owner = (resource.name, rest) if find_work(resource, rest) else owners.get(rest)
            if verb and owner is not None:
                found[resource.name, work.name] = owner
    return found


@dataclass
class _Taken:
    document: Document
    standing: dict[Key, Key]
    found: dict[Key, Others] = field(default_factory=dict)
    values: dict[Key, set[str]] = field(default_factory=lambda: defaultdict(set))

    def nodes(self, nodes: Iterable[Node]) -> Iterator[Node]:
        """``nodes`` without what stands for accesses."""
        whole = list(nodes)
        beside = {n.id: n for n in whole if isinstance(n, Op)}
        mine: dict[str, list[Op]] = defaultdict(list)
        for node in whole:
            if isinstance(node, Op) and (node.target, node.work) in self.standing:
                mine[node.id.rpartition(".")[0]].append(node)
        for owner, ops in mine.items():
            if owner not in beside:
                raise NotExpressible(f"{ops[0].id}: {ops[0].work} stands beside no call that it belongs to")
        for node in whole:
            if isinstance(node, Guard | Loop):
                yield replace(node, body=tuple(self.nodes(node.body)))
            elif isinstance(node, Op) and (node.target, node.work) in self.standing:
                continue
            elif isinstance(node, Op) and node.kind is OpKind.WORK:
                yield self.call(node, mine.get(node.id, []))
            else:
                yield node

    def call(self, op: Op, others: list[Op]) -> Op:
        """A call without the views that were handed to it."""
        key = op.target, op.work
        if key not in self.standing.values():
            return op
        said = Others(
            tuple(self.access(key, o) for o in others if not o.work.startswith("written")),
            tuple(self.access(key, o) for o in others if o.work.startswith("written")),
        )
        if self.found.setdefault(key, said) != said:
            raise NotExpressible(
                f"{op.id}: calls of {op.work} touch other bytes of other resources each; make it several works"
            )
        views = {name for o in others for name in o.results}
        self.values[key] |= views
        return replace(op, args=tuple((k, v) for k, v in op.args if k not in views))

    def access(self, key: Key, op: Op) -> Access:
        """What ``op`` says."""
        resource = find_resource(self.document, op.target)
        access = in_short(access_of(op.footprint, op.id), resource) if op.footprint else Access()
        stage = None if op.stage is None else op.stage if isinstance(op.stage, int) else str(op.stage)
        return replace(access, stage=stage, resource="" if op.target == key[0] else op.target)

    def resource(self, resource: Resource) -> Resource:
        """``resource`` without works that stand for accesses, and without parameters for them."""
        works = [w for w in resource.works if (resource.name, w.name) not in self.standing]
        return replace(
            resource,
            works=tuple(
                replace(
                    w,
                    parameters=tuple(p for p in w.parameters if p not in self.values[resource.name, w.name]),
                )
                for w in works
            ),
        )


def called(document: Document) -> dict[Key, list[Op]]:
    """The calls of each work."""
    found: dict[Key, list[Op]] = defaultdict(list)
    for task in document.tasks:
        for op in ops_of(task):
            if op.kind is OpKind.WORK:
                found[op.target, op.work].append(op)
    return found
