"""Tasks as Task Scheduling has them: one domain loop each, and only its own ops and blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from warpdraft.core.document import Document, Guard, GuardKind, Loop, Node, Op, OpKind, Task
from warpdraft.core.expressions import symbols_of
from warpdraft.core.tree import walk

from .errors import NotExpressible

PIPELINE_OPS = (
    OpKind.ACQUIRE,
    OpKind.TRY_ACQUIRE,
    OpKind.COMMIT,
    OpKind.WAIT,
    OpKind.TRY_WAIT,
    OpKind.RELEASE,
)
PER_ITERATION = (
    GuardKind.FIRST_ITER,
    GuardKind.LAST_ITER,
    GuardKind.EVERY,
    GuardKind.WHEN_TRUE,
    GuardKind.WHEN_FALSE,
)
OPAQUE = (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE)
THEN = "_then_"  # how an import calls what several tasks do on the same warps
GROUP = 4  # warps of a warpgroup
ADVANCES = ("get_and_advance_work_tile", "fetch_work_tile")
EMPTY_LOOP = Loop("", "domain", "k", ())


def stated_tasks(document: Document, left_out: list[str]) -> Document:
    """``document`` with tasks that Task Scheduling has. Raises NotExpressible for others."""
    return replace(document, tasks=tuple(_task(t) for t in document.tasks))


def with_idle_warps(document: Document, left_out: list[str]) -> Document:
    """``document`` with tasks for the idle warps beside tasks that ask for registers: in Task Scheduling all four warps of a
    group ask."""
    queue = next(
        (n.queue for t in document.tasks for n in walk(t.body) if isinstance(n, Loop) and n.queue), ""
    )
    asked = {
        w // GROUP: t.num_registers for t in document.tasks if t.num_registers is not None for w in _warps(t)
    }
    taken = {w for t in document.tasks for w in _warps(t)}
    idle: list[Task] = []
    for group, registers in sorted(asked.items()):
        for warp in range(group * GROUP, (group + 1) * GROUP):
            if warp in taken:
                continue
            if (
                idle
                and idle[-1].warp_idx + idle[-1].num_warps == warp
                and idle[-1].warp_idx // GROUP == group
            ):
                idle[-1] = replace(idle[-1], num_warps=idle[-1].num_warps + 1)
            else:
                src = (queue,) if queue else ()
                body = _nothing(document, queue)
                idle.append(Task(f"idle_{warp}", warp, 1, body, src=src, num_registers=registers))
    left_out += [
        f"that warp {t.warp_idx} to {t.warp_idx + t.num_warps - 1} are idle: {t.name} does nothing"
        for t in idle
    ]
    return replace(document, tasks=(*document.tasks, *idle))


def _warps(task: Task) -> range:
    return range(task.warp_idx, task.warp_idx + max(0, task.num_warps))


def _nothing(document: Document, queue: str) -> tuple[Node, ...]:
    """The body of an idle task: it goes from tile to tile with the others."""
    loops = (n for t in document.tasks for n in walk(t.body) if isinstance(n, Loop) and n.queue)
    tiles = next(loops, None)
    if tiles is None:
        return ()
    on = tuple(n for n in tiles.body if isinstance(n, Op) and n.target == queue)
    return (replace(tiles, body=(EMPTY_LOOP, *on), skip_if="", var="tile"),)


def _task(task: Task) -> Task:
    body = tuple(n for n in task.body if not getattr(n, "implicit", False))
    if len(body) == 1 and isinstance(body[0], Guard) and body[0].kind is GuardKind.CTA_RANK:
        inner = _task(replace(task, body=body[0].body))  # Task(run_only_on_cta_id=...)
        return replace(task, body=(replace(body[0], body=inner.body),))
    body = _named_loops(body, "")
    for node in walk(body):
        _check(node)
    _check_blocks(body, ())
    parts = _parts(body)
    for part in parts:
        loops = [n for n in walk(part) if isinstance(n, Loop) and n.kind == "domain"]
        if len(loops) > 1:
            raise NotExpressible(
                f"{loops[1].id}: a second domain loop in {task.name}; a task of Task Scheduling has one: put the loops into "
                "tasks of their own"
            )
    if len(parts) == 1:
        return replace(task, body=_looped(body))
    task = replace(task, body=tuple(n for part in parts for n in _looped(part)))
    return _merged(task)


def parts_of(task: Task) -> list[Task]:
    """The tasks of Task Scheduling that do what ``task`` does, one after the other on the same warps: one a loop."""
    bodies = _parts(task.body)
    if len(bodies) == 1:
        return [task]
    names = task.name.split(THEN)
    given: set[str] = set()
    found = []
    for i, body in enumerate(bodies):
        used = {o.target for o in walk(body) if isinstance(o, Op)} | {
            n.queue for n in walk(body) if isinstance(n, Loop)
        }
        src, dst = (
            tuple(r for r in side if r in used or (i == len(bodies) - 1 and r not in given))
            for side in (task.src, task.dst)
        )
        given |= {*src, *dst}
        name = names[i] if len(names) == len(bodies) else f"{task.name}_{i + 1}"
        found.append(replace(task, name=name, body=body, src=src, dst=dst))
    return found


def _merged(task: Task) -> Task:
    """``task`` as an import puts its parts together again."""
    parts = parts_of(task)
    src, dst = (tuple(dict.fromkeys(r for p in parts for r in getattr(p, side))) for side in ("src", "dst"))
    return replace(task, name=THEN.join(p.name for p in parts), src=src, dst=dst)


def _parts(body: tuple[Node, ...]) -> list[tuple[Node, ...]]:
    """``body`` cut in front of each loop but the first, of those that are not inside another block."""
    starts = [i for i, node in enumerate(body) if isinstance(node, Loop)]
    cuts = [0, *starts[1:], len(body)]
    return [body[a:b] for a, b in pairwise(cuts)] if len(starts) > 1 else [body]


def _looped(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """``body`` with a domain loop."""
    return body if any(isinstance(n, Loop) and n.kind == "domain" for n in walk(body)) else _with_loop(body)


def _with_loop(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """``body`` with a loop that never runs, behind what is done for one tile and before the next is asked for: a task has a
    loop in any case, and queues are not allowed before it."""
    for i, node in enumerate(body):
        if isinstance(node, Loop | Guard) and any(isinstance(n, Loop) for n in walk((node,))):
            return (*body[:i], replace(node, body=_with_loop(node.body)), *body[i + 1 :])
        if isinstance(node, Loop):
            inner = _with_loop(node.body)
            if node.skip_if:
                inner = (*node.body, Guard("", GuardKind.SKIPPABLE, (EMPTY_LOOP,), loop=node.var))
            return (*body[:i], replace(node, body=inner), *body[i + 1 :])
    queues = {n.target for n in body if isinstance(n, Op) and n.work in ADVANCES}
    at = next((i for i, n in enumerate(body) if isinstance(n, Op) and n.target in queues), len(body))
    return (*body[:at], EMPTY_LOOP, *body[at:])


def _named_loops(nodes: Sequence[Node], loop: str) -> tuple[Node, ...]:
    """``nodes`` with the loop that conditions speak of where they name none: the one around."""
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Guard) and node.kind in PER_ITERATION and node.kind not in OPAQUE:
            node = replace(node, loop=node.loop or loop)
        if not isinstance(node, Op):
            inner = node.var if isinstance(node, Loop) and node.kind == "domain" else loop
            node = replace(node, body=_named_loops(node.body, inner))
        found.append(node)
    return tuple(found)


def _check(node: Node) -> None:
    """Refuse what no schedule of Task Scheduling has."""
    if isinstance(node, Op):
        if node.kind not in (*PIPELINE_OPS, OpKind.WORK):
            raise NotExpressible(
                f"{node.id}: Task Scheduling has no {node.kind.value} in schedules; it belongs into the body of a work"
            )
        for what, value in (("stage", node.stage), ("tx", node.tx), ("ctas", node.ctas or None)):
            if value is not None and node.kind is not OpKind.WORK and what != "stage":
                raise NotExpressible(f"{node.id}: Task Scheduling's {node.kind.value} takes no {what}")
        return
    if isinstance(node, Loop):
        asked = [s for bound in (node.start, node.step) for s in symbols_of(bound) if s.per_tile]
        if node.kind == "domain" and asked:
            raise NotExpressible(
                f"{node.id}: the loop starts or steps by {asked[0].name}, another in each tile; Task Scheduling asks only "
                "for the stop in each tile"
            )
        return
    if node.kind not in (*PER_ITERATION, GuardKind.SKIPPABLE):
        raise NotExpressible(
            f"{node.id}: Task Scheduling has no {node.kind.value} in schedules; it belongs into the body of a work"
        )


def _check_blocks(nodes: Sequence[Node], around: tuple[Loop | Guard, ...]) -> None:
    """Refuse blocks where Task Scheduling has none."""
    for node in nodes:
        if isinstance(node, Op):
            queues = [n.queue for n in around if isinstance(n, Loop)]
            if node.target in queues and any(getattr(n, "kind", "") is GuardKind.SKIPPABLE for n in around):
                raise NotExpressible(
                    f"{node.id}: Task Scheduling goes on to the next tile outside skippable()"
                )
            continue
        inside = [n for n in around if isinstance(n, Guard) and n.kind in PER_ITERATION]
        looped = any(isinstance(n, Loop) and n.kind == "domain" for n in around)
        if isinstance(node, Loop) and node.kind == "tile" and around:
            raise NotExpressible(f"{node.id}: Task Scheduling's loop over tiles is the outermost block")
        skipping = [n for n in around if isinstance(n, Loop) and n.skip_if]
        skipped = any(isinstance(n, Guard) and n.kind is GuardKind.SKIPPABLE for n in around)
        if isinstance(node, Loop) and node.kind == "domain" and skipping and not skipped:
            raise NotExpressible(
                f"{node.id}: the loop over {skipping[0].queue} skips tiles, and this loop does not; in Task Scheduling "
                "it is inside skippable()"
            )
        if isinstance(node, Loop) and inside:
            raise NotExpressible(f"{node.id}: a loop inside a condition, which Task Scheduling does not have")
        if isinstance(node, Guard) and node.kind in PER_ITERATION:
            if inside:
                raise NotExpressible(
                    f"{node.id}: {node.kind.value} inside {inside[0].kind.value}; Task Scheduling does not nest conditions"
                )
            if not looped:
                raise NotExpressible(
                    f"{node.id}: {node.kind.value} outside a domain loop, where Task Scheduling has no conditions"
                )
            if node.kind not in OPAQUE and node.loop not in [n.var for n in around if isinstance(n, Loop)]:
                raise NotExpressible(
                    f"{node.id}: {node.kind.value} of {node.loop}, which is not the loop around it"
                )
        _check_blocks(node.body, (*around, node))
