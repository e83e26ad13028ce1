"""Named and cluster barriers in an execution: joining the open generation, and leaving it once all are in. And the pool of
registers, which is waited for as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import phases
from .incidents import Entry, Note, joined
from .phases import Meeting
from .program import Event, EventKind, Program
from .races import SYNC

if TYPE_CHECKING:
    from .clocks import Execution


def sync(run: Execution, w: int, j: int, e: Event) -> bool:
    b = e.barrier
    if w in run.inside and run.state[b].completed > run.inside[w]:  # it was parked, and knows what it may
        del run.inside[w]
        return True
    if w not in run.inside:
        run.inside[w] = _enter(run, w, j, e)
    if run.state[b].completed <= run.inside[w]:
        run.parked[b].append(w)
        return False
    del run.inside[w]
    if run.base[w][run.n + b] < run.state[b].completed:
        run.base[w] = run.cumul[b]  # that includes what it knew
    return True


def bar_arrive(run: Execution, w: int, j: int, e: Event) -> bool:
    _enter(run, w, j, e)
    return True


def cluster_arrive(run: Execution, w: int, j: int, e: Event) -> bool:
    """Joins generation ``e.number`` of the cluster's barrier; joining the next without a wait in between is undefined
    behaviour (PTX ISA, barrier.cluster)."""
    b = e.barrier
    if run.joined[w] > run.state[b].completed:
        run.report("cluster_order", b, run.state[b].completed, w, j)
        run.stopped = "undefined"
        return False
    run.joined[w] += 1
    run.log[b].append(Entry(w, j, run.base[w], e.kind, 0))
    state: Meeting = run.state[b]  # type: ignore[assignment]
    run.state[b] = state._replace(inside=state.inside + run.weight[w])
    _complete_cluster(run)
    return True


def cluster_wait(run: Execution, w: int, j: int, e: Event) -> bool:
    """Passes once all warps that have not exited have joined the generation that this one joined last."""
    b, g = e.barrier, e.number or 0
    if g < 0 or g < run.waited.get(w, 0):
        run.report("cluster_order", b, run.state[b].completed, w, j)
        run.stopped = "undefined"
        return False
    if run.state[b].completed <= g:
        run.parked[b].append(w)
        return False
    run.waited[w] = g + 1
    if run.base[w][run.n + b] < run.state[b].completed:
        run.base[w] = joined(run.base[w], run.cumul[b])
    return True


def registers(run: Execution, w: int, j: int, e: Event) -> bool:
    """setmaxnreg: takes registers once the pool has them. That orders nothing else, so no clock learns of it."""
    b, more = e.barrier, e.bytes * run.weight[w]
    planned = run.increases is not None and more > 0
    if more > max(0, run.state[b].spare) or (planned and run.increases[:1] != [(w, j)]):
        run.parked[b].append(w)
        return False
    run.state[b] = phases.exchange(run.state[b], more)
    run.requests.append(Note(w, j, SYNC, 0, run.base[w], e.op))
    if planned:
        run.increases.pop(0)
    if more < 0 or planned:
        run.ready.extend(run.parked[b])
        run.parked[b] = []
    return True


def lifetime(run: Execution, w: int, j: int, e: Event) -> bool:
    """mbarrier.init of a barrier that has had a life before starts its phases anew; who uses it when: `core.lifetimes`. It
    stands for what has seen the last phase over."""
    b = e.barrier
    if b >= 0 and e.number and run.state[b] != run.program.barriers[b].start:
        seen, known = run.state[b].completed, run.n + b
        run.state[b] = phases.restarted(run.state[b])
        if run.base[w][known] >= seen:  # the phase that is left out to come to an even number was nobody's
            base = run.base[w]
            run.base[w] = (*base[:known], run.state[b].completed, *base[known + 1 :])
        run.log[b] = []
        run.waits[b].append((w, j, run.base[w], False))
    return True


def leave_early(program: Program) -> bool:
    """Whether some warps exit with fewer arrivals at the cluster's barrier than others."""
    return len({sum(e.kind is EventKind.CLUSTER_ARRIVE for e in s.events) for s in program.streams}) > 1


def exited(run: Execution) -> None:
    """A warp has come to its end: the barrier of the cluster no longer waits for it."""
    _complete_cluster(run)


def _complete_cluster(run: Execution) -> None:
    """Completes the open generation if every warp is in or gone. An exit orders what comes behind the wait, as an arrival
    does. But it releases nothing, so that what the warp has written need not be seen: WD208 looks at that."""
    b = run.cluster
    done = run.state[b].completed
    if not run.log[b]:
        return
    missing = [u for u, n in enumerate(run.joined) if n <= done]
    ended = [len(stream.events) for stream in run.program.streams]
    if all(run.at[u] == ended[u] and u not in run.unfinished for u in missing):
        gone = (u for u in missing if ended[u] and run.exits_order)
        run.log[b].extend(Entry(u, ended[u], run.base[u], EventKind.CLUSTER_ARRIVE, 0) for u in gone)
        run.complete(b)
        run.state[b] = Meeting(done + 1)


def _enter(run: Execution, w: int, j: int, e: Event) -> int:
    """Joins the open generation; returns it (the last one that its warps join)."""
    b, left = e.barrier, run.weight[w]
    expects = e.number or run.program.barriers[b].count
    run.contribute(w, j, b, e.kind, 0)
    while True:
        state: Meeting = run.state[b]  # type: ignore[assignment]
        if state.inside and state.expects != expects:
            run.report("count_mismatch", b, state.completed, w, j, run.log[b][0][:2])
            run.stopped = "undefined"
            return state.completed
        now = min(left, expects - state.inside)
        after = phases.join(state, now, expects)
        if after.completed > state.completed:
            run.complete(b)
        run.state[b] = after
        left -= now
        if not left or run.stopped:
            return state.completed
        run.report("misassigned", b, after.completed, w, j, (w, j))
        run.log[b].append(Entry(w, j, run.base[w], e.kind, 0))
