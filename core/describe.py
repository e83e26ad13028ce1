"""Events in words, for witnesses and messages."""

from __future__ import annotations

from collections.abc import Sequence

from .document import Engine
from .program import Barrier, Event, EventKind, Stream, in_cta


def iteration(event: Event) -> str:
    """ "tile 1, k 2"; empty outside loops."""
    return ", ".join(f"{var} {i}" for var, i in event.at)


def phase(generation: int) -> str:
    """A generation as a reader of hardware traces would call it."""
    return "phase -1 (fresh)" if generation < 0 else f"phase {generation}"


def words(event: Event, stream: Stream, barriers: Sequence[Barrier]) -> str:
    """What ``event`` does, e.g. "waits for full smem_ab[1] phase 0"."""
    name = " and ".join(barriers[b].name for b in event.barriers)
    count = (1 if event.number is None else event.number) * stream.weight
    match event.kind:
        case EventKind.WAIT if event.drain:
            return f"drains: waits for {name} {_awaited(event)}"
        case EventKind.WAIT:
            return f"waits for {name} {_awaited(event)}"
        case EventKind.TRY:
            return f"peeks at {name} {_awaited(event)}"
        case EventKind.ARRIVE:
            return f"arrives on {name}" + (f" ({count} arrivals)" if count > 1 else "")
        case EventKind.ARRIVE_EXPECT:
            return f"arrives on {name} and expects {event.bytes * stream.weight} B"
        case EventKind.EXPECT:
            return f"expects {event.bytes * stream.weight} B on {name}"
        case EventKind.COMMIT_ARRIVE:
            works = "MMAs" if event.engine is None else f"{event.engine} copies"
            return f"arrives on {name} once its {works} are done"
        case EventKind.HELD_ARRIVE:
            return f"keeps {name} open until its {event.engine} copies are done"
        case EventKind.GROUP_COMMIT:
            return f"commits a {event.engine} group"
        case EventKind.GROUP_WAIT:
            return f"waits until at most {event.number} {event.engine} groups are open"
        case EventKind.GROUP_WAIT_READ:
            return f"waits until at most {event.number} {event.engine} groups still read"
        case EventKind.SYNC:
            return f"syncs on {name}"
        case EventKind.BAR_ARRIVE:
            return f"arrives on {name}"
        case EventKind.FENCE:
            return "fences the proxies" + (", by one lane" if event.lane else "")
        case EventKind.LIFETIME:
            return (
                f"{'initialises' if event.number else 'invalidates'} {name}" if name else "fences its inits"
            )
        case EventKind.REGISTERS:
            does = "asks for" if event.bytes > 0 else "goes down to" if event.bytes else "stays at"
            return f"{does} {event.number} registers a thread"
        case EventKind.SYNC_WARP:
            return "converges its lanes"
        case EventKind.CLUSTER_ARRIVE:
            return f"arrives at the cluster's barrier ({phase(event.number or 0)})"
        case EventKind.CLUSTER_WAIT:
            return f"waits for the cluster ({phase(event.number or 0)})"
        case EventKind.DRAIN:
            loads = event.engine is Engine.TCGEN05_LD
            return f"waits for its {'loads from' if loads else 'stores to'} tensor memory"
        case EventKind.FENCE_BEFORE | EventKind.FENCE_AFTER:
            side = "before" if event.kind is EventKind.FENCE_BEFORE else "after"
            return f"fences tcgen05 {side} it meets others"
        case EventKind.TMEM_ALLOC | EventKind.TMEM_DEALLOC:
            does = "allocates" if event.kind is EventKind.TMEM_ALLOC else "frees"
            return f"{does} columns of tensor memory" + (" with its pair" if event.number == 2 else "")
        case EventKind.TMEM_RELINQUISH:
            return "gives up the permit to allocate tensor memory"
        case EventKind.TENSORMAP_UPDATE:
            return f"rewrites the tensor map {event.accesses[0].resource}"
        case EventKind.FENCE_TENSORMAP:
            return "fences tensor maps"
        case EventKind.WGMMA_FENCE:
            return "fences its registers for wgmma"
    return _accesses(event, name)


def _awaited(event: Event) -> str:
    return f"parity {event.parity}" if event.number is None else phase(event.number)


def _accesses(event: Event, barrier: str) -> str:
    reads = dict.fromkeys(_place(a) for a in event.accesses if not a.write)
    writes = dict.fromkeys(_place(a) for a in event.accesses if a.write)
    parts = [f"writes {', '.join(writes)}"] if writes else []
    parts += [f"reads {', '.join(reads)}"] if reads else []
    text = " and ".join(parts) or "works"
    if event.kind is EventKind.ASYNC:
        text = f"starts {event.engine}: {text}"
        if barrier:
            text += f", {event.bytes} B on {barrier}"
    return text


def _place(access) -> str:
    return f"{in_cta(access.resource, access.cta)}[{access.stage}]"
