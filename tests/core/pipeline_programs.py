"""Random programs in the shape of whole kernels: tensor-core accumulators, bytes expected by themselves, pairs of CTAs."""

from __future__ import annotations

import random

from programs import (
    access,
    arm,
    arrive,
    copies_arrive,
    copies_hold,
    drain,
    expect,
    far,
    ld,
    mma_commit,
    mutate,
    peek,
    program,
    random_program,
    ring,
    st,
    start,
    sync,
    tma,
    wait,
)

from warpdraft.core.document import Engine
from warpdraft.core.program import Barrier, BarrierKind, Event, EventKind, Program, Stream


def accumulator_program(rng: random.Random) -> Program:
    """Copies, MMAs into accumulators, and an epilogue that loads these and waits for its loads (sm_100a), with up to two
    mistakes. Commits free the stages and hand the accumulators on."""
    stages, slots = rng.choice((1, 1, 2)), rng.choice((1, 1, 2))
    tiles, trips = rng.choice((1, 2)), rng.choice((1, 1, 2))
    full, empty, done, free = 0, stages, 2 * stages, 2 * stages + slots
    load: list[Event] = []
    math: list[Event] = []
    epilogue: list[Event] = []
    for tile in range(tiles):
        slot, turn = tile % slots, tile // slots
        math.append(wait(free + slot, turn - 1))
        for i in range(tile * trips, tile * trips + trips):
            s, g = i % stages, i // stages
            load += [wait(empty + s, g - 1), arm(full + s, 1), tma(full + s, 1, s)]
            mma = start(Engine.TCGEN05, s)._replace(accesses=access(False, s) + access(True, stages + slot))
            math += [wait(full + s, g), mma, mma_commit(empty + s)]
        math.append(mma_commit(done + slot))
        epilogue += [wait(done + slot, turn), start(Engine.TCGEN05_LD, stages + slot)]
        epilogue += [drain(Engine.TCGEN05_LD), arrive(free + slot)]
    counts = [1] * (2 * stages + 2 * slots)
    streams = [load, math, epilogue]
    for _ in range(rng.choice((0, 0, 1, 2))):
        mutate(streams, counts, rng)
    return program(streams, counts)


def bytes_program(rng: random.Random) -> Program:
    """A ring of raw mbarriers whose bytes are expected and delivered by events of their own, in some order, by one warp or
    two; waits name a parity or have a peek before; and up to two mistakes."""
    stages, trips, consumers = rng.choice((1, 1, 2)), rng.choice((1, 1, 2)), rng.choice((1, 1, 1, 2))
    streams = ring(stages, trips, consumers, "tma")
    orders = [[*rng.sample(range(4), 4)] if rng.random() < 0.3 else [0, 1, 2, 3] for _ in range(trips)]
    producer: list[Event] = []
    for i in range(trips):
        s, g = i % stages, i // stages
        parts = expect(s, 2), arrive(s), tma(s, 1, s, 0), tma(s, rng.choice((1, 1, 1, 0)), s, 1)
        producer += [wait(stages + s, g - 1), *(parts[n] for n in orders[i])]
    streams[0] = producer
    counts = [1] * stages + [consumers] * stages
    if rng.random() < 0.15:  # a second warp makes the arrivals
        streams[0] = [e for e in producer if e.kind is not EventKind.ARRIVE]
        streams.append([e for e in producer if e.kind in (EventKind.ARRIVE, EventKind.WAIT)])
    for events in streams:
        named = rng.random() < 0.4
        for i in reversed(range(len(events))):
            e = events[i]
            if e.kind is EventKind.WAIT and named:
                events[i] = e._replace(number=None, parity=e.number & 1)
            elif e.kind is EventKind.WAIT and rng.random() < 0.4:
                events.insert(i, peek(e.barrier, e.number))
    for _ in range(rng.choice((0, 0, 1, 2))):
        mutate(streams, counts, rng)
    return program(streams, counts)


def pair_program(rng: random.Random) -> Program:
    """Two CTAs, each with a loader and a reader: copies to both CTAs, releases to both loaders, a named barrier in each CTA
    and perhaps the cluster's at the end; and up to two mistakes."""
    trips, shares = rng.choice((1, 1, 2)), rng.random() < 0.8
    meets = rng.random() < 0.6
    counts = [1, 1, 1 + shares, 1 + shares]  # full of both CTAs, empty of both
    streams: list[list[Event]] = []
    for cta in range(2):
        load: list[Event] = []
        read: list[Event] = []
        for g in range(trips):
            load += [wait(2 + cta, g - 1), arm(cta, 1 + shares)]
            copies = [far(tma(c, 1, 0, cta if shares else 2), c) for c in range(2)]
            load += copies if shares else copies[cta : cta + 1]
            release = arrive(2 + cta)._replace(also=(3 - cta,) if shares else ())
            read += [wait(cta, g), far(ld(0), cta), release]
            if meets:
                load.append(sync(4 + cta))
                read += [far(st(1), cta), sync(4 + cta)] if rng.random() < 0.5 else [sync(4 + cta)]
        streams += [load, read]
    for _ in range(rng.choice((0, 0, 1, 2))):
        mutate(streams, counts, rng)
    if rng.random() < 0.4:
        for events in streams:
            if rng.random() < 0.9:
                events += [
                    Event(k, "", barrier=6) for k in (EventKind.CLUSTER_ARRIVE, EventKind.CLUSTER_WAIT)
                ]
    return _in_pair(streams, counts)


def _in_pair(streams: list[list[Event]], counts: list[int]) -> Program:
    """The first half of ``streams`` is CTA 0's; of the mbarriers, CTA 0 has every other one; two named barriers follow."""
    barriers = [
        Barrier(f"b{i}", BarrierKind.MBARRIER, n, f"b{i}", "raw", cta=i % 2) for i, n in enumerate(counts)
    ]
    barriers += [Barrier(f"n@{c}", BarrierKind.NAMED, 2, "n", "named", cta=c) for c in range(2)]
    barriers.append(Barrier("cluster", BarrierKind.CLUSTER, len(streams), "", "cluster"))
    made = []
    for w, events in enumerate(streams):
        stream = Stream(f"t{w}", 0, 1, (0,), cta=2 * w // len(streams))
        stream.events = [e._replace(op=f"t{w}.{i:02d}") for i, e in enumerate(events)]
        made.append(stream)
    return Program(tuple(made), tuple(barriers))


def any_program(rng: random.Random) -> Program:
    """Anything at all, with all works of a tensor core, peeks, and copies that arrive: most are wrong in some way."""
    made = random_program(rng, tensor=True)
    mbarriers = [b for b, x in enumerate(made.barriers) if x.kind is BarrierKind.MBARRIER]
    streams = [[*s.events] for s in made.streams]
    for _ in range(rng.randint(0, 2)):
        events, b = rng.choice(streams), rng.choice(mbarriers)
        more = rng.choice(
            (
                peek(b, rng.randint(0, 2)),
                copies_arrive(b),
                copies_hold(b),
                start(Engine.CP_ASYNC, rng.randrange(2), True),
            )
        )
        events.insert(rng.randint(0, len(events)), more)
    counts = [x.count for x in made.barriers if x.kind is BarrierKind.MBARRIER]
    return program(streams, counts, [x.count for x in made.barriers if x.kind is BarrierKind.NAMED])
