"""Small machine programs: hand-made, random, and mutated."""

from __future__ import annotations

import random
from collections.abc import Sequence

from warpdraft.core.document import Engine
from warpdraft.core.program import Access, Barrier, BarrierKind, Event, EventKind, Program, Stream

WIDTH = 16  # bytes of a slot


def program(streams: Sequence[Sequence[Event]], counts: Sequence[int], named: Sequence[int] = ()) -> Program:
    """A program of one warp a stream; barriers are mbarriers with ``counts``, then named ones with ``named`` warps."""
    barriers = [Barrier(f"b{i}", BarrierKind.MBARRIER, n, f"b{i}", "raw") for i, n in enumerate(counts)]
    barriers += [Barrier(f"n{i}", BarrierKind.NAMED, n, f"n{i}", "named") for i, n in enumerate(named)]
    made = []
    for w, events in enumerate(streams):
        stream = Stream(f"t{w}", 0, 1, (0,))
        stream.events = [e._replace(op=f"t{w}.{i:02d}") for i, e in enumerate(events)]
        made.append(stream)
    return Program(tuple(made), tuple(barriers))


def access(write: bool, slot: int, part: int = 2) -> tuple[Access, ...]:
    """The whole of ``slot`` (part 2) or one half of it (0, 1)."""
    low = slot * WIDTH + (WIDTH // 2 if part == 1 else 0)
    high = slot * WIDTH + (WIDTH // 2 if part == 0 else WIDTH)
    return (Access(write, "smem", low, high, f"r{slot}", 0),)


def wait(b: int, generation: int) -> Event:
    return Event(EventKind.WAIT, "", barrier=b, number=generation)


def parity_wait(b: int, parity: int) -> Event:
    return Event(EventKind.WAIT, "", barrier=b, number=None, parity=parity)


def peek(b: int, generation: int) -> Event:
    return Event(EventKind.TRY, "", barrier=b, number=generation)


def arrive(b: int, n: int = 1) -> Event:
    return Event(EventKind.ARRIVE, "", barrier=b, number=n)


def expect(b: int, nbytes: int) -> Event:
    return Event(EventKind.EXPECT, "", barrier=b, bytes=nbytes)


def arm(b: int, nbytes: int) -> Event:
    return Event(EventKind.ARRIVE_EXPECT, "", barrier=b, number=1, bytes=nbytes)


def tma(b: int, nbytes: int, slot: int, part: int = 2) -> Event:
    return Event(
        EventKind.ASYNC, "", barrier=b, bytes=nbytes, engine=Engine.TMA, accesses=access(True, slot, part)
    )


def st(slot: int, part: int = 2) -> Event:
    return Event(EventKind.WORK, "", engine=Engine.WARP, accesses=access(True, slot, part))


def ld(slot: int, part: int = 2) -> Event:
    return Event(EventKind.WORK, "", engine=Engine.WARP, accesses=access(False, slot, part))


def start(engine: Engine, slot: int, write: bool = False, part: int = 2) -> Event:
    return Event(EventKind.ASYNC, "", engine=engine, accesses=access(write, slot, part))


def group_commit(engine: Engine) -> Event:
    return Event(EventKind.GROUP_COMMIT, "", engine=engine)


def group_wait(engine: Engine, n: int = 0, read: bool = False) -> Event:
    return Event(EventKind.GROUP_WAIT_READ if read else EventKind.GROUP_WAIT, "", number=n, engine=engine)


def drain(engine: Engine) -> Event:
    return Event(EventKind.DRAIN, "", engine=engine)


def mma_commit(b: int) -> Event:
    return Event(EventKind.COMMIT_ARRIVE, "", barrier=b, number=1)


def copies_arrive(b: int, n: int = 1) -> Event:
    """cp.async.mbarrier.arrive.noinc"""
    return Event(EventKind.COMMIT_ARRIVE, "", barrier=b, number=n, engine=Engine.CP_ASYNC)


def copies_hold(b: int, n: int = 1) -> Event:
    """cp.async.mbarrier.arrive"""
    return Event(EventKind.HELD_ARRIVE, "", barrier=b, number=n, engine=Engine.CP_ASYNC)


def sync(b: int) -> Event:
    return Event(EventKind.SYNC, "", barrier=b)


def bar_arrive(b: int) -> Event:
    return Event(EventKind.BAR_ARRIVE, "", barrier=b)


def tensor_program(rng: random.Random) -> Program:
    """Works of Blackwell's tensor core with few barriers, and their waits and commits."""
    waits = {Engine.TCGEN05_LD: False, Engine.TCGEN05_ST: True}
    streams: list[list[Event]] = []
    for w in range(2):
        events: list[Event] = []
        for _ in range(rng.randint(2, 6)):
            pick = rng.random()
            if pick < 0.45:
                engine = rng.choice((Engine.TCGEN05, Engine.TCGEN05, Engine.TCGEN05_CP, Engine.TCGEN05_SHIFT))
                events.append(start(engine, 0, rng.random() < 0.5, rng.randrange(3)))
            elif pick < 0.65:
                engine = rng.choice(tuple(waits))
                events.append(start(engine, 0, waits[engine], rng.randrange(3)))
            elif pick < 0.8:
                events.append(drain(rng.choice(tuple(waits))))
            elif w == 0:
                events.append(rng.choice((mma_commit, arrive))(0))
            elif rng.random() < 0.8:
                events.append(wait(0, sum(e.kind is EventKind.WAIT for e in events)))
        streams.append(events)
    return program(streams, [1])


def copying_program(rng: random.Random) -> Program:
    """cp.async copies that arrive on mbarriers in both forms, other arrivals, groups, waits and readers."""
    turns = [-1, -1]
    streams: list[list[Event]] = []
    for w in range(2):
        events: list[Event] = []
        for _ in range(rng.randint(2, 6)):
            pick, b = rng.random(), rng.randrange(2)
            if pick < 0.3:
                events.append(start(Engine.CP_ASYNC, rng.randrange(2), True, rng.randrange(3)))
            elif pick < 0.5:
                events.append(rng.choice((copies_arrive, copies_hold, copies_hold))(b))
            elif pick < 0.65:
                events.append(arrive(b))
            elif pick < 0.75:
                events.append(rng.choice((group_commit, group_wait))(Engine.CP_ASYNC))
            elif pick < 0.9 and w:
                turns[b] += 1
                events.append(wait(b, turns[b]))
            else:
                events.append(rng.choice((st, ld))(rng.randrange(2), rng.randrange(3)))
        streams.append(events)
    return program(streams, [rng.choice((1, 1, 2)) for _ in range(2)])


def random_program(rng: random.Random, tensor: bool = False) -> Program:
    """Anything at all, small: most are wrong in some way. ``tensor``: with all works of a tensor core."""
    warps, mbars, named = rng.choice((2, 2, 3)), rng.choice((1, 2, 2, 3)), rng.choice((0, 0, 1))
    counts = [rng.choice((1, 1, 2)) for _ in range(mbars)]
    turns = [[-1] * mbars for _ in range(warps)]

    def some_event(w: int) -> Event:
        b = rng.randrange(mbars)
        pick = rng.random()
        if pick < 0.30:
            turns[w][b] += rng.choice((0, 1, 1, 1))
            if rng.random() < 0.15:
                return parity_wait(b, rng.randrange(2))
            return wait(b, turns[w][b])
        if pick < 0.52:
            return arrive(b, rng.choice((1, 1, 1, 2)))
        if pick < 0.60:
            return arm(b, rng.choice((1, 1, 2)))
        if pick < 0.64:
            return expect(b, rng.choice((1, 2)))
        if pick < 0.72:
            return tma(b, rng.choice((0, 1, 1, 2)), rng.randrange(2), rng.randrange(3))
        if pick < 0.80:
            return rng.choice((st, ld))(rng.randrange(2), rng.randrange(3))
        if pick < 0.88:
            engine = rng.choice((Engine.WGMMA, Engine.BULK_STORE, Engine.CP_ASYNC))
            return rng.choice(
                (
                    start(engine, rng.randrange(2), rng.random() < 0.3),
                    group_commit(engine),
                    group_wait(engine, rng.randrange(2), rng.random() < 0.4),
                )
            )
        if pick < 0.91 and tensor:
            loads = rng.random() < 0.5
            engine = Engine.TCGEN05_LD if loads else Engine.TCGEN05_ST
            return rng.choice((start(engine, rng.randrange(2), not loads, rng.randrange(3)), drain(engine)))
        if pick < 0.94:
            engine = rng.choice((Engine.TCGEN05, Engine.TCGEN05_CP, Engine.TCGEN05_SHIFT))
            op = start(
                engine if tensor else Engine.TCGEN05, rng.randrange(2), rng.random() < 0.4, rng.randrange(3)
            )
            return rng.choice((op, mma_commit(b)))
        if named:
            return rng.choice((sync, sync, bar_arrive))(mbars)
        return arrive(b)

    streams = [[some_event(w) for _ in range(rng.randint(1, 6))] for w in range(warps)]
    return program(streams, counts, [rng.choice((1, 2, 2))] * named)


def ring(
    stages: int, trips: int, consumers: int, kind: str, rng: random.Random | None = None
) -> list[list[Event]]:
    """Producer and consumers over full[0..S) and empty[S..2S); ``kind``: "tma", "threads", "wgmma" or "mma"."""
    producer: list[Event] = []
    for i in range(trips):
        s, g = i % stages, i // stages
        fill = [arm(s, 2), tma(s, 1, s, 0), tma(s, 1, s, 1)] if kind != "threads" else [st(s), arrive(s)]
        producer += [wait(stages + s, g - 1), *fill]
    streams = [producer]
    for _ in range(consumers):
        events: list[Event] = []
        for i in range(trips):
            s, g = i % stages, i // stages
            use: list[Event] = [ld(s), arrive(stages + s)]
            if kind == "wgmma":
                use = [
                    start(Engine.WGMMA, s),
                    group_commit(Engine.WGMMA),
                    group_wait(Engine.WGMMA),
                    arrive(stages + s),
                ]
            elif kind == "mma":
                use = [start(Engine.TCGEN05, s), mma_commit(stages + s)]
            events += [wait(s, g), *use]
        streams.append(events)
    return streams


def mutated_ring(rng: random.Random) -> Program:
    """A correct ring with up to three mistakes."""
    stages, trips, consumers = rng.choice((1, 1, 2)), rng.randint(1, 3), rng.choice((1, 1, 2))
    streams = ring(stages, trips, consumers, rng.choice(("tma", "threads", "wgmma", "mma")))
    counts = [1] * stages + [consumers] * stages
    for _ in range(rng.randint(0, 3)):
        mutate(streams, counts, rng)
    return program(streams, counts)


def mutate(streams: list[list[Event]], counts: list[int], rng: random.Random) -> None:
    """Makes one mistake."""
    events = rng.choice([s for s in streams if s] or [[]])
    if not events:
        return
    i = rng.randrange(len(events))
    e = events[i]
    match rng.randrange(7):
        case 0:
            del events[i]
        case 1:
            events.insert(i, e)
        case 2:
            j = rng.randrange(len(events))
            events[i], events[j] = events[j], events[i]
        case 3:
            if e.kind is EventKind.WAIT and e.number is not None:
                events[i] = e._replace(number=max(-1, e.number + rng.choice((-1, 1))))
        case 4:
            counts[rng.randrange(len(counts))] = rng.choice((1, 2, 3))
        case 5:
            if e.bytes:
                events[i] = e._replace(bytes=rng.choice((0, 1, 2, 3)))
            elif 0 <= e.barrier < len(counts):  # another mbarrier; named ones come behind
                events[i] = e._replace(barrier=rng.randrange(len(counts)), also=())
        case 6:
            if e.kind is EventKind.WAIT and e.number is not None:
                events[i] = e._replace(number=None, parity=e.number & 1)
            elif e.kind in (EventKind.GROUP_WAIT, EventKind.GROUP_WAIT_READ):
                events[i] = e._replace(number=1)


def cluster_program(rng: random.Random) -> Program:
    """Two CTAs of one or two warps each: remote and multicast arrivals, copies to both, the barrier of the cluster in two
    halves (a warp's arrivals and waits in turn, but not all warps equally often)."""
    ctas = [0, 1] if rng.random() < 0.6 else [0, 0, 1]
    counts = [rng.choice((1, 1, 2)) for _ in range(4)]  # the first two are CTA 0's
    meeting = len(counts)
    barriers = [
        Barrier(f"b{i % 2}@{i // 2}", BarrierKind.MBARRIER, n, f"b{i % 2}", "raw", cta=i // 2)
        for i, n in enumerate(counts)
    ]
    barriers.append(Barrier("cluster", BarrierKind.CLUSTER, len(ctas), "", "cluster"))
    streams = []
    for w, cta in enumerate(ctas):
        stream = Stream(f"t{w}", 0, 1, (0,), cta=cta)
        events = _cluster_events(rng, cta, meeting)
        stream.events = [e._replace(op=f"t{w}.{i:02d}") for i, e in enumerate(events)]
        streams.append(stream)
    return Program(tuple(streams), tuple(barriers))


def _cluster_events(rng: random.Random, cta: int, meeting: int) -> list[Event]:
    turns, joined, waiting, events = [-1, -1], 0, False, []
    for _ in range(rng.randint(1, 6)):
        b, pick = rng.randrange(2), rng.random()
        own, other = 2 * cta + b, 2 * (1 - cta) + b
        if pick < 0.25:
            turns[b] += rng.choice((0, 1, 1, 1))
            events.append(wait(own, turns[b]))
        elif pick < 0.50:
            event = rng.choice((arrive, arrive, mma_commit, lambda b: arm(b, 1)))(rng.choice((own, other)))
            both = rng.random() < 0.4
            events.append(event._replace(also=(own + other - event.barrier,)) if both else event)
        elif pick < 0.62:
            events += [far(tma(b, 1, b), c) for b, c in ((own, cta), (other, 1 - cta)) if rng.random() < 0.7]
        elif pick < 0.76:
            events.append(far(rng.choice((st, ld))(b), rng.choice((cta, cta, 1 - cta))))
        elif pick < 0.80:
            events.append(far(start(Engine.TCGEN05, b), rng.randrange(2)))
        elif waiting:
            events.append(Event(EventKind.CLUSTER_WAIT, "", barrier=meeting, number=joined - 1))
            waiting = False
        else:
            events.append(Event(EventKind.CLUSTER_ARRIVE, "", barrier=meeting, number=joined))
            joined, waiting = joined + 1, True
    return events


def far(event: Event, cta: int) -> Event:
    """``event`` on the memory of CTA ``cta``."""
    moved = tuple(a._replace(space=f"smem@{cta}" if cta else "smem", cta=cta) for a in event.accesses)
    return event._replace(accesses=moved)
