"""More random programs: meetings at named barriers, raw mbarriers by parity, async groups, and peeks."""

from __future__ import annotations

import random

from programs import (
    arrive,
    bar_arrive,
    group_commit,
    group_wait,
    ld,
    mutate,
    program,
    ring,
    st,
    start,
    sync,
    wait,
)

from warpdraft.core.document import Engine
from warpdraft.core.program import Event, EventKind, Program


def meeting_program(rng: random.Random) -> Program:
    """Up to three warps that meet at one or two named barriers, in a sensible order with mistakes, and share slots."""
    warps, named = rng.choice((2, 3, 3, 3)), rng.choice((1, 2))
    counts = [rng.choice((warps, warps, 2, warps - 1)) for _ in range(named)]
    rounds = [rng.randrange(named) for _ in range(rng.randint(1, 3))]
    streams = []
    for _ in range(warps):
        events: list[Event] = []
        for b in rounds:
            if rng.random() < 0.5:
                events.append(rng.choice((st, ld))(rng.randrange(2), rng.randrange(3)))
            if rng.random() < 0.93:
                events.append((bar_arrive if rng.random() < 0.25 else sync)(b))
        if rng.random() < 0.3 and len(events) > 1:
            i = rng.randrange(len(events) - 1)
            events[i], events[i + 1] = events[i + 1], events[i]
        streams.append(events)
    return program(streams, [], counts)


def parity_program(rng: random.Random) -> Program:
    """A ring of raw mbarriers whose waits name a parity, with up to two mistakes: also in a parity, or a count."""
    stages, trips, consumers = rng.choice((1, 1, 2)), rng.randint(1, 3), rng.choice((1, 1, 2))
    streams = ring(stages, trips, consumers, rng.choice(("tma", "threads", "wgmma", "mma")))
    counts = [1] * stages + [consumers] * stages
    named = [rng.random() < 0.8 for _ in streams]  # the other streams count their waits
    streams = [
        [
            e._replace(number=None, parity=e.number & 1) if parities and e.kind is EventKind.WAIT else e
            for e in events
        ]
        for events, parities in zip(streams, named, strict=True)
    ]
    for _ in range(rng.choice((0, 0, 1, 2))):
        mutate(streams, counts, rng)
    waits = [(events, i) for events in streams for i, e in enumerate(events) if e.parity is not None]
    if waits and rng.random() < 0.25:
        events, i = rng.choice(waits)
        events[i] = events[i]._replace(parity=1 - events[i].parity)
    return program(streams, counts)


def group_program(rng: random.Random) -> Program:
    """Two warps that hand slots on: async groups are committed and waited for in order, sometimes too few or too late."""
    engine = rng.choice((Engine.WGMMA, Engine.BULK_STORE, Engine.CP_ASYNC))
    writes, read = engine is Engine.CP_ASYNC, engine is Engine.BULK_STORE and rng.random() < 0.7
    slots, trips = rng.choice((1, 2, 2)), rng.randint(1, 3)
    lag = rng.choice((0, 0, slots - 1))  # groups that a wait leaves open
    one: list[Event] = []
    for i in range(trips):
        one += [wait(i % slots, i // slots), start(engine, i % slots, writes), group_commit(engine)]
        one.append(group_wait(engine, lag, read))
        if i >= lag:
            one.append(arrive(slots + (i - lag) % slots))
    one += [group_wait(engine, 0, read)] if rng.random() < 0.8 else []
    one += [arrive(slots + i % slots) for i in range(max(0, trips - lag), trips)]
    two: list[Event] = []
    for i in range(trips):
        use = ld(i % slots) if writes else st(i % slots)
        two += [wait(slots + i % slots, i // slots - 1), use, arrive(i % slots)]
    streams, counts = [one, two], [1] * (2 * slots)
    for _ in range(rng.choice((0, 0, 1, 2))):
        mutate(streams, counts, rng)
    return program(streams, counts)


def peeking_program(rng: random.Random) -> Program:
    """A ring with peeks before some waits, mostly right before and for the phase that these are for, and up to two mistakes
    elsewhere."""
    stages, trips, consumers = rng.choice((1, 1, 2)), rng.randint(1, 3), rng.choice((1, 1, 2))
    streams = ring(stages, trips, consumers, rng.choice(("tma", "threads", "wgmma", "mma")))
    counts = [1] * stages + [consumers] * stages
    for _ in range(rng.choice((0, 0, 1, 2))):
        mutate(streams, counts, rng)
    for events in streams:
        for i in reversed(range(len(events))):
            if events[i].kind is EventKind.WAIT and events[i].number is not None and rng.random() < 0.6:
                place, ahead = (
                    (i, 0) if rng.random() < 0.7 else (max(0, i - rng.randint(0, 3)), rng.randint(0, 2))
                )
                number = events[i].number + ahead
                events.insert(place, events[i]._replace(kind=EventKind.TRY, number=number))
    return program(streams, counts)
