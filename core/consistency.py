"""What must hold for a document to be read at all: names are unique, and every reference has something to refer to.

Everything else that may be wrong with a schedule is a hazard, which the verifier reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .cursors import CONSUMING, PRODUCING
from .document import Document, Guard, Loop, Mbarrier, Node, Op, OpKind, Pipeline, Storage
from .expressions import OPERATORS, Integer, Symbol, symbols_of, unknown_operators, variables_of
from .limits import MAX_WARPS
from .op_integers import expressions_of

TARGETS = {
    "resource": (
        OpKind.ACQUIRE,
        OpKind.TRY_ACQUIRE,
        OpKind.PRODUCER_TAIL,
        OpKind.COMMIT,
        OpKind.WAIT,
        OpKind.TRY_WAIT,
        OpKind.RELEASE,
        OpKind.WORK,
        OpKind.TENSORMAP_UPDATE,
    ),
    "async group": (OpKind.GROUP_COMMIT, OpKind.GROUP_WAIT, OpKind.GROUP_WAIT_READ),
    "named barrier": (OpKind.BARRIER_SYNC, OpKind.BARRIER_ARRIVE),
    "mbarrier": (
        OpKind.MBARRIER_ARRIVE,
        OpKind.MBARRIER_EXPECT,
        OpKind.MBARRIER_ARRIVE_EXPECT,
        OpKind.MBARRIER_WAIT,
        OpKind.MBARRIER_TRY_WAIT,
        OpKind.TCGEN05_COMMIT,
        OpKind.CP_ASYNC_ARRIVE,
        OpKind.CP_ASYNC_ARRIVE_NOINC,
        OpKind.MBARRIER_INIT,
        OpKind.MBARRIER_INVAL,
    ),
}
GROUPED = PRODUCING | CONSUMING  # ops that a pipeline group may have too
PARITIES = (OpKind.MBARRIER_WAIT, OpKind.MBARRIER_TRY_WAIT)  # whose count is a parity
MAYBE = (OpKind.TMEM_ALLOC, OpKind.TMEM_DEALLOC, OpKind.FENCE_TENSORMAP)  # a resource, or all of a kind
TARGET_OF = {kind: what for what, kinds in TARGETS.items() for kind in kinds}


def problem(document: Document) -> tuple[str, str] | None:
    """The first inconsistency of ``document``: (where, what), or None."""
    return next(_problems(document), None)


def _problems(document: Document) -> Iterator[tuple[str, str]]:
    yield from _printable("name", document.name)
    for axis, ctas in enumerate(document.cluster):
        if ctas < 1:
            yield f"cluster[{axis}]", f"there is at least 1 CTA, not {ctas}"
    names: dict[str, str] = {}  # of the shared namespace, with what each is
    for field, what in (
        ("resources", "resource"),
        ("barriers", "named barrier"),
        ("mbarriers", "mbarrier"),
        ("groups", "async group"),
        ("pipeline_groups", "pipeline group"),
    ):
        for i, item in enumerate(getattr(document, field)):
            if not item.name:
                yield f"{field}[{i}].name", f"a {what} needs a name"
            yield from _printable(f"{field}[{i}].name", item.name)
            if item.name in names:
                yield (
                    f"{field}[{i}].name",
                    f"{item.name!r} is already the name of a {names[item.name]}; rename one",
                )
            names[item.name] = what
    for i, resource in enumerate(document.resources):
        yield from _doubled(f"resources[{i}].works", "work", [w.name for w in resource.works])
        for j, work in enumerate(resource.works):
            if work.role not in ("producer", "consumer"):
                yield (
                    f"resources[{i}].works[{j}].role",
                    f'a role is "producer" or "consumer", not {work.role!r}',
                )
            yield from _delivered(f"resources[{i}].works[{j}]", work.tx)
        yield from _stages(f"resources[{i}].pipeline", resource.pipeline)
        for j, stride in enumerate(resource.pipeline.interleave if resource.pipeline else ()):
            if isinstance(stride, int) and not 1 <= stride <= MAX_WARPS:
                yield (
                    f"resources[{i}].pipeline.interleave[{j}]",
                    f"a stride is 1 to {MAX_WARPS}, not {stride}",
                )
        yield from _stages(f"resources[{i}].storage", resource.storage)
        yield from _sizes(f"resources[{i}].storage", resource.storage)
        parts = resource.storage.parts if resource.storage else ()
        yield from _doubled(f"resources[{i}].storage.parts", "part", [p.name for p in parts])
    yield from _pipeline_groups(document, names)
    for i, mbarrier in enumerate(document.mbarriers):
        yield from _stages(f"mbarriers[{i}]", mbarrier)
    yield from _doubled("symbols", "symbol", [s.name for s in document.symbols])
    yield from _doubled("tasks", "task", [t.name for t in document.tasks])
    if "" in [t.name for t in document.tasks]:
        yield f"tasks[{[t.name for t in document.tasks].index('')}].name", "a task needs a name"
    for i, task in enumerate(document.tasks):
        yield from _printable(f"tasks[{i}].name", task.name)
    yield from _kernel(document)
    yield from _references(document, names)


def _printable(path: str, name: str) -> Iterator[tuple[str, str]]:
    """Names stand in reports, tables and generated code: in one line, as they are."""
    if not name.isprintable():
        yield path, f"a name has no line breaks and control characters; rename {name!r:.60}"


def _delivered(path: str, tx: int | None) -> Iterator[tuple[str, str]]:
    if tx is not None and tx < 0:
        yield f"{path}.tx", f"a copy delivers 0 bytes or more, not {tx}"


def _stages(path: str, staged: Pipeline | Storage | Mbarrier | None) -> Iterator[tuple[str, str]]:
    if staged is not None and isinstance(staged.stages, int) and staged.stages < 1:
        yield f"{path}.stages", f"there is at least 1 stage, not {staged.stages}"


def _sizes(path: str, storage: Storage | None) -> Iterator[tuple[str, str]]:
    if storage is None:
        return
    if storage.bytes < 0:
        yield f"{path}.bytes", f"a stage has 0 bytes or more, not {storage.bytes}"
    if storage.alignment < 1:
        yield f"{path}.alignment", f"an alignment is at least 1, not {storage.alignment}"
    for j, part in enumerate(storage.parts):
        if part.offset < 0 or part.bytes < 0:
            text = f"offset and bytes are 0 or more, not {part.offset} and {part.bytes}"
            yield f"{path}.parts[{j}]", text


def _pipeline_groups(document: Document, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    known: dict[str, str] = {}  # member -> its group
    for i, group in enumerate(document.pipeline_groups):
        if not group.members:
            yield f"pipeline_groups[{i}].members", f"{group.name} has no members; name at least one resource"
        for j, member in enumerate(group.members):
            yield from _resource(f"pipeline_groups[{i}].members[{j}]", member, names)
            if member in known:
                text = f"{member!r} is a member of {known[member]} already; a resource is in one group"
                yield f"pipeline_groups[{i}].members[{j}]", text
            known[member] = group.name
        yield from _stages(f"pipeline_groups[{i}].pipeline", group.pipeline)


def _kernel(document: Document) -> Iterator[tuple[str, str]]:
    kernel = document.kernel
    if kernel is None:
        return
    for i, tensor in enumerate(kernel.tensors):
        for j, extent in enumerate(tensor.shape):
            yield from _operators(f"kernel.tensors[{i}].shape[{j}]", extent)
    for name, value in kernel.trip_counts:
        yield from _operators(f"kernel.trip_counts.{name}", value)
    yield from _operators("kernel.grid", kernel.grid)


def _operators(path: str, expression: Integer) -> Iterator[tuple[str, str]]:
    for operator in unknown_operators(expression):
        yield path, f"operator {operator!r} is not one of {', '.join(OPERATORS)}"


def _references(document: Document, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    for i, edge in enumerate(document.graph):
        yield from _resource(f"graph[{i}].upstream", edge.upstream, names)
        yield from _resource(f"graph[{i}].downstream", edge.downstream, names)
    made = {edge.downstream for edge in document.graph}
    for i, root in enumerate(document.roots):
        yield from _resource(f"roots[{i}]", root, names)
        if root in made or root in document.roots[:i]:
            yield f"roots[{i}]", f"{root!r} is named before, in the graph or here; leave it out"
    ids: set[str] = set()
    for i, task in enumerate(document.tasks):
        for side in ("src", "dst"):
            for j, name in enumerate(getattr(task, side)):
                yield from _resource(f"tasks[{i}].{side}[{j}]", name, names)
        for path, node in _walk(task.body, f"tasks[{i}].body"):
            if node.id in ids:
                yield f"{path}.id", f"{node.id!r} is already the id of another op; give it one of its own"
            ids.add(node.id)
            yield from _printable(f"{path}.id", node.id)
            if isinstance(node, Op):
                yield from _target(path, node, names)
                yield from _computed(path, node)
            elif isinstance(node, Loop):
                yield from _loop(path, node, names, set(document.symbols))


def _target(path: str, op: Op, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    wanted = TARGET_OF.get(op.kind)
    if wanted is None and op.kind in MAYBE and op.target:
        wanted = "resource"
    if wanted is None:
        if op.target:
            yield f"{path}.target", f"{op.kind} has no target; remove {op.target!r}"
    elif op.target not in names:
        yield f"{path}.target", f"nothing is called {op.target!r}; declare it or name another {wanted}"
    elif names[op.target] != wanted and not (names[op.target] == "pipeline group" and op.kind in GROUPED):
        yield f"{path}.target", f"{op.kind} needs a {wanted}, but {op.target!r} is a {names[op.target]}"


def _loop(path: str, loop: Loop, names: dict[str, str], symbols: set[Symbol]) -> Iterator[tuple[str, str]]:
    if loop.kind not in ("domain", "tile"):
        yield f"{path}.kind", f'a loop is "domain" or "tile", not {loop.kind!r}'
    if loop.queue:
        yield from _resource(f"{path}.queue", loop.queue, names)
    for bound in ("start", "stop", "step"):
        yield from _operators(f"{path}.{bound}", getattr(loop, bound))
        for symbol in symbols_of(getattr(loop, bound)):
            if symbol not in symbols:
                yield (
                    f"{path}.{bound}",
                    f"symbol {symbol.name!r} (min {symbol.min}) is not declared in symbols",
                )
        for name in variables_of(getattr(loop, bound)):
            yield (
                f"{path}.{bound}",
                f"a bound is made of integers and symbols, not of a loop variable ({name!r})",
            )


def _computed(path: str, op: Op) -> Iterator[tuple[str, str]]:
    for field, expression in expressions_of(op):
        yield from _operators(f"{path}.{field}", expression)
        if field == "count" and op.kind not in PARITIES:
            yield f"{path}.count", f"the count of {op.kind.value} is a number, not {expression}"
    least = int(
        op.kind is OpKind.MBARRIER_ARRIVE
    )  # PTX ISA, mbarrier.arrive: the range of a pending count, from 1 on
    if isinstance(op.count, int) and op.count < least and op.kind not in PARITIES:
        yield f"{path}.count", f"the count of {op.kind.value} is {least} or more, not {op.count}"
    yield from _delivered(path, op.tx)


def _resource(path: str, name: str, names: dict[str, str]) -> Iterator[tuple[str, str]]:
    if names.get(name) != "resource":
        is_other = f"{name!r} is a {names[name]}" if name in names else f"nothing is called {name!r}"
        yield path, f"{is_other}; name a declared resource"


def _doubled(path: str, what: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for i, name in enumerate(names):
        if name in names[:i]:
            yield f"{path}[{i}].name", f"two {what}s are called {name!r}; rename one"


def _walk(nodes: Iterable[Node], path: str) -> Iterator[tuple[str, Node]]:
    for i, node in enumerate(nodes):
        yield f"{path}[{i}]", node
        if isinstance(node, Loop | Guard):
            yield from _walk(node.body, f"{path}[{i}].body")
