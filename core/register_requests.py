"""setmaxnreg in a schedule: what each request takes from the CTA's pool or gives back to it, and whether all are met.

A warp begins with the registers that the kernel was compiled for (`core.registers`); a decrease gives some to the pool of
its CTA and never waits, an increase waits until the pool has enough (PTX ISA, setmaxnreg: "per-CTA-register-pool"). The
registers of a warp that has exited are taken to stay with it. Where every request is made as its task starts, WD303
adds them up; only a schedule that makes one elsewhere has a pool of its own in the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .document import Document, Guard, GuardKind, Loop, Op
from .event_kinds import REGISTER_KINDS
from .incidents import Note
from .limits import MAX_WARPS
from .occupancy import ctas_per_sm
from .program import BarrierKind, Event, EventKind
from .registers import entry_registers
from .tree import find_task, ops_of, placed

if TYPE_CHECKING:
    from .run import Run
    from .unroll import WarpWalk

LANES, GROUP = 32, 4  # lanes of a warp, warps of a warpgroup
MOST_STATES = 10_000  # that are looked at


def requests(document: Document) -> list[Op]:
    """The setmaxnreg that schedules state."""
    return [op for task in document.tasks for op in ops_of(task) if op.kind in REGISTER_KINDS]


def registers_at_start(document: Document) -> int:
    """Registers that each thread of the launch begins with."""
    warps = max((t.warp_idx + t.num_warps for t in document.tasks if t.num_warps > 0), default=0)
    warps = min(MAX_WARPS, -(-warps // GROUP) * GROUP)
    return entry_registers(LANES * warps, ctas_per_sm(document))


def given_by_idle_warps(document: Document) -> int:
    """Registers that warps without a task give to the pool of a CTA before anything starts (less than 0: that they take):
    they make the request of their warpgroup's tasks with them."""
    given, entry = 0, registers_at_start(document)
    for group in range(-(-MAX_WARPS // GROUP)):
        warps = range(GROUP * group, GROUP * (group + 1))
        here = [
            t for t in document.tasks if t.warp_idx < warps.stop and warps.start < t.warp_idx + t.num_warps
        ]
        counts = [t.num_registers for t in here if t.num_registers is not None]
        busy = {w for t in here for w in range(t.warp_idx, t.warp_idx + t.num_warps)}
        if counts:
            given += LANES * (entry - max(counts)) * len(set(warps) - busy)
    return given


def at_start(walk: WarpWalk) -> None:
    """What the task asks for before its schedule."""
    if walk.task.num_registers is not None:
        request(walk, walk.task.num_registers)


def request(walk: WarpWalk, count: int | None, op: Op | None = None) -> None:
    """A request of ``walk``'s warp for ``count`` registers a thread. One that has no count asks for nothing (WD603)."""
    if not isinstance(count, int):
        return
    pool = walk.machine.barrier("", "pool", cta=walk.stream.cta)
    taken = LANES * (count - walk.registers)
    walk.registers = count
    id = op.id if op else ""
    walk.stream.events.append(Event(EventKind.REGISTERS, id, walk.at, pool, count, taken))


def together(run: Run, u: int, w: int) -> bool:
    """Whether streams ``u`` and ``w`` have warps of one warpgroup."""
    return bool(warpgroups_of(run, u) & warpgroups_of(run, w))


def warpgroups_of(run: Run, w: int) -> set[tuple[int, int]]:
    """The warpgroups that warps of stream ``w`` belong to, each with its CTA."""
    stream = run.program.streams[w]
    first = find_task(run.document, stream.task).warp_idx
    return {(stream.cta, (first + i) // GROUP) for i in stream.warps}


class Progress(NamedTuple):
    """By stream, how many of its requests are met, and of how many warps the next one is."""

    met: tuple[int, ...]
    begun: tuple[int, ...]


@dataclass
class Orders:
    """All orders in which the requests of one finished run can be met, each warp by itself.

    A state stands for everything that may have happened before the increases that are still to come, decreases included:
    those never wait, and only add to the pool. A warp whose siblings are not through the same request frees nothing, as they
    must meet before the next one (WD603).
    """

    run: Run
    events: list[list[Note]] = field(default_factory=list)  # by stream
    stuck: Progress | None = None  # where some increase can never be met
    came: dict[Progress, tuple[Progress, int] | None] = field(
        default_factory=dict
    )  # from where, by whose grant
    decided: bool = True

    def __post_init__(self) -> None:
        self.events = [[] for _ in self.run.program.streams]
        for note in self.run.execution.requests:
            self.events[note.stream].append(note)
        self._search()

    def spare(self, state: Progress, cta: int) -> int:
        """Registers in the pool of a CTA."""
        spare = sum(b.count for b in self.run.program.barriers if b.kind is BarrierKind.POOL and b.cta == cta)
        for w, stream in enumerate(self.run.program.streams):
            met, begun = state.met[w], state.begun[w]
            if stream.cta == cta:
                spare -= sum(self._taken(w, i) for i in range(met)) * stream.weight
                spare -= self._taken(w, met) * begun if begun else 0
        return spare

    def waiting(self, state: Progress) -> list[int]:
        """The streams whose next request, an increase, has been reached."""
        return [w for w in range(len(self.events)) if self._reached(state, w)]

    def begun(self) -> list[tuple[int, int]]:
        """The streams stuck with a request that some of their warps are through, and how many."""
        return [(w, n) for w, n in enumerate(self.stuck.begun if self.stuck else ()) if n]

    def way(self, state: Progress) -> list[tuple[int, int]]:
        """The increases met on the way to ``state``, as events of streams."""
        found: list[tuple[int, int]] = []
        while (step := self.came[state]) is not None:
            state, w = step
            found.append((w, self.events[w][state.met[w]].index))
        return list(dict.fromkeys(reversed(found)))

    def _taken(self, w: int, i: int) -> int:
        return self.run.event(w, self.events[w][i].index).bytes

    def _reached(self, state: Progress, w: int) -> bool:
        """Whether all that comes before the next request of ``w`` may have happened."""
        if state.met[w] == len(self.events[w]):
            return False
        base = self.events[w][state.met[w]].base
        return all(
            state.met[u] == len(of) or u == w or base[u] < of[state.met[u]].index
            for u, of in enumerate(self.events)
        )

    def _freed(self, state: Progress) -> Progress:
        """``state`` with every request met that takes nothing."""
        met, changed = list(state.met), True
        while changed:
            changed = False
            now = Progress(tuple(met), state.begun)
            for w, i in enumerate(met):
                if not state.begun[w] and self._reached(now, w) and self._taken(w, i) <= 0:
                    met[w], changed = i + 1, True
                    break
        return Progress(tuple(met), state.begun)

    def _after(self, state: Progress) -> Iterator[tuple[int, Progress]]:
        """Every increase of one warp that the pool allows."""
        for w in self.waiting(state):
            stream = self.run.program.streams[w]
            if self._taken(w, state.met[w]) <= self.spare(state, stream.cta):
                begun = state.begun[w] + 1
                whole = begun == stream.weight
                met = (*state.met[:w], state.met[w] + whole, *state.met[w + 1 :])
                after = Progress(met, (*state.begun[:w], 0 if whole else begun, *state.begun[w + 1 :]))
                yield w, self._freed(after) if whole else after

    def _search(self) -> None:
        nothing = (0,) * len(self.events)
        start = self._freed(Progress(nothing, nothing))
        self.came[start] = None
        stack = [start]
        while stack:
            state = stack.pop()
            if self._enough(state):
                continue
            after = list(self._after(state))
            if not after and any(met < len(of) for met, of in zip(state.met, self.events, strict=True)):
                self.stuck = state
                return
            for w, new in after:
                if new not in self.came:
                    self.came[new] = state, w
                    stack.append(new)
            if len(self.came) > MOST_STATES:
                self.decided = False
                return

    def _enough(self, state: Progress) -> bool:
        """Whether the pools have enough for all increases at once, whatever is given back later."""
        ahead: dict[int, int] = {}
        for stream, met, begun, of in zip(self.run.program.streams, *state, self.events, strict=True):
            more = [max(0, self._taken(note.stream, i)) for i, note in enumerate(of)][met:]
            ahead[stream.cta] = ahead.get(stream.cta, 0) + sum(more) * stream.weight - sum(more[:1]) * begun
        return all(needed <= self.spare(state, cta) for cta, needed in ahead.items())


def orders(run: Run) -> Orders | None:
    """Whether every request of a run in which each was met is so in every other order, too; None where nobody asks."""
    e = run.execution
    if not e.requests or e.incidents or e.blocked or e.stopped:
        return None
    return Orders(run)


def undecided(run: Run) -> str:
    """Why not every order of requests for registers was looked at; "" if all were."""
    found = orders(run)
    if found is None or found.decided:
        return ""
    return f"requests for registers can be met in more than {MOST_STATES:,} orders"


def repeated(document: Document) -> bool:
    """Whether requests are made again and again in loops: then each trip count is looked at by itself."""
    return any(
        getattr(found.node, "kind", None) in REGISTER_KINDS and not _once(found.parents)
        for found in placed(document)
    )


def _once(parents: Sequence[Loop | Guard]) -> bool:
    """Whether what stands inside ``parents``, outermost first, runs at most once: in the first iteration of each loop."""
    left: list[str] = []
    for parent in parents:
        if isinstance(parent, Loop):
            left.append(parent.var)
        elif parent.kind is GuardKind.FIRST_ITER and left:
            name = parent.loop or left[-1]
            left = [var for var in left if var != name]
    return not left
