"""The fences of the tensor cores, in an execution: `tcgen05.fence` on both sides of a barrier, and `wgmma.fence`.

Tasks that state a fence are held to its rule, and those whose works are stock bodies: these are one instruction and no
fence. Elsewhere works are trusted with it (`core.assumptions`).

A barrier alone orders no tcgen05 work of two warps (PTX ISA, "tcgen05 memory consistency model"): who waits fences behind
the wait (`after_thread_sync`), who arrives fences in front of the arrival (`before_thread_sync`), which a commit implies.
`wgmma.fence` comes before the first wgmma of a warp, and between its accesses to registers and the wgmma that uses them
(PTX ISA, wgmma.fence).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from .allocations import allocated
from .document import Document, Engine, OpKind, Space, Task
from .footprints import engine_of, target_work, tracked
from .program import Event
from .schedulers import has_slots
from .tensor_core import TENSOR
from .tensor_maps import descriptors
from .tree import ops_of

if TYPE_CHECKING:
    from .clocks import Execution
    from .incidents import Clock
    from .races import Pair, Record


STOCK = "sm100."  # bodies of the tensor core that emit no fence


class Judged(NamedTuple):
    """What is looked at: ``proxied`` resources lie in shared memory, ``tensor`` ones in tensor memory, ``registers`` in
    registers; the tasks ``after``, ``before`` and ``wgmma`` must state such a fence; the schedule allocates the tensor
    memory of ``allocated`` itself, and rewrites the tensor maps ``descriptors``; of those proxied, ``outside`` lie in global
    memory."""

    proxied: frozenset[str] = frozenset()
    tensor: frozenset[str] = frozenset()
    registers: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()
    wgmma: frozenset[str] = frozenset()
    allocated: frozenset[str] = frozenset()
    descriptors: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()


NOTHING = Judged()


def judged(document: Document) -> Judged:
    """What the rules on proxies and fences are to look at in ``document``."""

    def lie_in(space: Space) -> frozenset[str]:
        return frozenset(r.name for r in document.resources if r.space is space)

    def state(kind: OpKind) -> frozenset[str]:
        return frozenset(t.name for t in document.tasks if any(op.kind is kind for op in ops_of(t)))

    bare = frozenset(t.name for t in document.tasks if fences_nothing(document, t))
    outside = frozenset(r.name for r in document.resources if r.space is Space.GMEM and tracked(r))
    return Judged(
        outside | lie_in(Space.SMEM) | frozenset(r.name for r in document.resources if has_slots(r)),
        lie_in(Space.TMEM),
        lie_in(Space.RMEM),
        state(OpKind.TCGEN05_FENCE_AFTER) | bare,
        state(OpKind.TCGEN05_FENCE_BEFORE) | bare,
        state(OpKind.WGMMA_FENCE),
        allocated(document),
        descriptors(document),
        outside,
    )


def fences_nothing(document: Document, task: Task) -> bool:
    """Whether all that ``task`` does in tensor memory are stock bodies."""
    found = [target_work(document, op) for op in ops_of(task) if op.kind is OpKind.WORK]
    works = [(r, w) for r, w in filter(None, found) if not (w.view or w.auxiliary)]
    bodies = [w.body for r, w in works if r.space is Space.TMEM or engine_of(r, w) in TENSOR]
    return bool(bodies) and all(body.startswith(STOCK) for body in bodies)


class Unfenced(NamedTuple):
    """A wgmma at event ``index`` of ``stream`` with no fence before it since op ``touched`` accessed its registers ("": none
    at all)."""

    stream: int
    index: int
    resource: str
    touched: str


class Fencing:
    """The fences of each stream so far, and what lacked one: ``missing`` pairs with the side, ``wgmma`` by op."""

    def __init__(self, judged: Judged, execution: Execution) -> None:
        self.judged, self.execution = judged, execution
        tasks = [s.task for s in execution.program.streams]
        self.enters = [task in judged.after for task in tasks]
        self.leaves = [task in judged.before for task in tasks]
        self.before: list[list[tuple[int, Clock]]] = [[] for _ in tasks]
        self.after: dict[int, tuple[int, Clock]] = {}  # the last one: it covers what the others did
        # resource -> op that accessed it since the last wgmma.fence; None: there was none yet
        self.touched: dict[int, dict[str, str] | None] = {
            w: None for w, task in enumerate(tasks) if task in judged.wgmma
        }
        self.missing: dict[tuple, tuple[Pair, str]] = {}
        self.wgmma: dict[tuple[str, str], Unfenced] = {}

    # -- tcgen05 ------------------------------------------------------------------------------------------------------
    def fence_before(self, w: int, j: int, e: Event) -> bool:
        self.before[w].append((j, self.execution.base[w]))
        return True

    def fence_after(self, w: int, j: int, e: Event) -> bool:
        self.after[w] = j, self.execution.base[w]
        return True

    def look(self, pair: Pair) -> None:
        """``pair``, accesses of tensor memory that are ordered: are they fenced on both sides?"""
        x, y = pair
        side = ""
        if self.enters[y.stream] and not self.entered(x, y.stream):
            side = "after"
        elif self.must_leave(x):
            left = self.left(x)
            side = "" if left is not None and y.base[x.stream] >= left else "before"
        if side:
            key = x.event.op, y.event.op, x.access.resource, y.access.resource, side
            self.missing.setdefault(key, (pair, side))

    def entered(self, x: Record, w: int) -> bool:
        """Whether stream ``w`` has fenced since it knows that ``x`` is done."""
        fence = self.after.get(w)
        return fence is not None and self.execution.races.finished(x, w, *fence)

    def must_leave(self, x: Record) -> bool:
        """Whether ``x`` needs a fence of its own before it is handed on: a commit implies one."""
        return self.leaves[x.stream] and x.component >= -1

    def left(self, x: Record) -> int | None:
        """The first fence behind ``x`` by its stream, once ``x`` was done."""
        fences = self.before[x.stream]
        for index, base in fences[bisect_right(fences, (x.index, ())) :]:
            if x.component < 0 or base[x.component] >= x.value:
                return index
        return None

    # -- wgmma --------------------------------------------------------------------------------------------------------
    def fence_wgmma(self, w: int, j: int, e: Event) -> bool:
        if w in self.touched:
            self.touched[w] = {}
        return True

    def note_registers(self, w: int, j: int, e: Event) -> None:
        """Event ``e`` of a stream that states its fences accesses memory, perhaps registers."""
        mine = [a.resource for a in e.accesses if a.resource in self.judged.registers]
        since = self.touched[w]
        if e.engine is not Engine.WGMMA:
            if since is not None:
                self.touched[w] = since | dict.fromkeys(mine, e.op)
            return
        if since is None:
            self.wgmma.setdefault((e.op, ""), Unfenced(w, j, "", ""))
        for resource in mine if since else ():
            if resource in since:
                self.wgmma.setdefault((e.op, since[resource]), Unfenced(w, j, resource, since[resource]))
