"""How findings of one execution speak of its events."""

from __future__ import annotations

from ..describe import iteration, phase
from ..diagnosis import Diagnosis, Stuck
from ..document import Document, Op
from ..phases import Pool
from ..program import Event, EventKind, in_cta
from ..races import Record
from ..run import Run, agent_name
from ..tree import find_resource, find_work
from .base import listed, plural
from .examples import READS, WRITES


def side_of(document: Document, op: Op) -> str:
    """ "src" where ``op`` uses its resource as a consumer, "dst" as a producer, "" otherwise."""
    if op.kind in READS:
        return "src"
    if op.kind in WRITES:
        return "dst"
    found = find_work(find_resource(document, op.target), op.work)
    if found is None or found.auxiliary:
        return ""
    return "src" if found.role == "consumer" else "dst"


def where(run: Run, w: int, j: int) -> str:
    """ "math.w0 at math.03 (tile 1, k 2)"."""
    event = run.event(w, j)
    at = iteration(event)
    return f"{agent_name(run, w)} at {event.op}" + (f" ({at})" if at else "")


def generation(event: Event) -> str:
    """The phase that a wait means."""
    return f"parity {event.parity}" if event.number is None else phase(event.number)


def accessed(record: Record) -> str:
    """ "smem_ab[1] bytes 0-1023"."""
    access = record.access
    return f"{in_cta(access.resource, access.cta)}[{access.stage}]"


def verb(record: Record) -> str:
    """ "read" or "write", asynchronous or not."""
    kind = "write" if record.access.write else "read"
    engine = record.event.engine
    return f"{engine} {kind}" if record.component != -1 and engine else kind


def lapped(run: Run, w: int, event: Event) -> int | None:
    """The phase that a blocked wait means, if the one after it is over too; else None. A wait that names a parity means the
    phase after those that its warp has seen, if that has this parity."""
    meant, done = event.number, run.execution.state[event.barrier].completed
    if meant is None:
        meant = max(0, run.execution.passed.get((w, event.barrier), 0))
        if meant & 1 != event.parity:
            return None
    return meant if done >= meant + 2 else None


def resources_of(run: Run, b: int) -> tuple[str, ...]:
    """What a barrier belongs to, as a finding's resources."""
    name = run.barrier(b).resource
    return (name,) if name else ()


def state(run: Run, b: int) -> str:
    """What the open phase of a barrier still lacks."""
    found = run.execution.state[b]
    if isinstance(found, Pool):
        return f"{plural(found.spare, 'register')} to spare"
    if not hasattr(found, "pending"):
        return f"{plural(found.inside, 'warp')} of {found.expects or run.barrier(b).count} in"
    parts = [f"{plural(found.completed, 'phase')} completed", f"{plural(found.pending, 'arrival')} pending"]
    if found.tx:
        parts.append(f"{found.tx} B " + ("missing" if found.tx > 0 else "too many"))
    return ", ".join(parts)


def owed(run: Run, diagnosis: Diagnosis, stuck: Stuck) -> tuple[str, ...]:
    """Who could still contribute to what a stream waits for, and where each is blocked."""
    notes = []
    lacking = getattr(run.execution.state[stuck.barrier], "pending", None)  # of an mbarrier's open phase
    for u, ahead in stuck.owing:
        count = ahead if lacking is None else min(ahead, lacking)
        other = diagnosis.stuck.get(u)
        at = f", blocked at {other.event.op} by {run.barrier(other.barrier).name}" if other else ""
        noun = "register" if stuck.event.kind is EventKind.REGISTERS else "arrival"
        notes.append(f"{agent_name(run, u)} owes {plural(count, noun) if count else 'bytes'}{at}")
    return tuple(notes)


def contributors(run: Run, b: int) -> str:
    """The tasks that have contributed, or would, to a barrier."""
    tasks = dict.fromkeys(
        stream.task
        for stream in run.program.streams
        for event in stream.events
        if b in event.barriers and event.kind not in (EventKind.WAIT, EventKind.TRY)
    )
    return listed(tasks)


def has_pipeline(document: Document, name: str) -> bool:
    """Whether resource ``name`` has a pipeline."""
    resource = find_resource(document, name)
    return bool(resource and resource.pipeline)
