"""Requests for registers against every interleaving: each warp by itself, as hardware grants them."""

import random

from explorer import explore

from warpdraft.core.clocks import Execution
from warpdraft.core.document import Document
from warpdraft.core.hazards import stuck_register_request as rule
from warpdraft.core.program import Barrier, BarrierKind, Event, EventKind, Program, Stream
from warpdraft.core.register_requests import orders
from warpdraft.core.run import Run
from warpdraft.core.simulate import simulate
from warpdraft.core.stepper import Stepper

PROGRAMS = 300
WARPS = 2  # of a group


def random_groups(seed: int) -> tuple[list[list[tuple]], list[Barrier]]:
    """What the warps of two or three groups do, and the barriers: requests, and signals from group to group."""
    draw = random.Random(seed)
    number = draw.choice((2, 2, 2, 3))
    barriers = [Barrier("pool", BarrierKind.POOL, draw.choice((0, 0, 1, 2)), "", "pool")]
    barriers += [Barrier(f"meet{g}", BarrierKind.NAMED, WARPS, f"meet{g}", "named") for g in range(number)]
    groups: list[list[tuple]] = [[] for _ in range(number)]
    groups[0].append(("ask", -draw.choice((1, 2, 3, 4))))
    for g, events in enumerate(groups):
        for _ in range(draw.choice((1, 2, 2) if number == 2 else (1, 1, 2))):
            change = draw.choice((-3, -2, 1, 2, 3))
            events += [("meet", 1 + g)] if events else []
            events.append(("ask", change))
    for _ in range(draw.choice((0, 1, 2, 2))):
        giver, taker = draw.sample(range(number), 2)
        b = len(barriers)
        barriers.append(Barrier(f"go{b}", BarrierKind.MBARRIER, WARPS, f"go{b}", "raw"))
        groups[giver].insert(draw.randint(0, len(groups[giver])), ("give", b))
        groups[taker].insert(draw.randint(0, len(groups[taker])), ("take", b))
    return groups, barriers


def event(number: int, what: str, value: int) -> Event:
    op = f"op.{number}"
    match what:
        case "ask":
            return Event(EventKind.REGISTERS, op, barrier=0, bytes=value)
        case "meet":
            return Event(EventKind.SYNC, op, barrier=value, number=WARPS)
        case "give":
            return Event(EventKind.ARRIVE, op, barrier=value, number=1)
    return Event(EventKind.WAIT, op, barrier=value, number=0)


def program(seed: int, weight: int) -> Program:
    """The program with ``weight`` warps a stream."""
    groups, barriers = random_groups(seed)
    streams = [
        Stream(f"g{g}", w, weight, tuple(range(w, w + weight)), [event(i, *e) for i, e in enumerate(events)])
        for g, events in enumerate(groups)
        for w in range(0, WARPS, weight)
    ]
    return Program(tuple(streams), tuple(barriers))


def test_every_order_is_decided_as_by_brute_force():
    stuck = later = 0
    for seed in range(PROGRAMS):
        truth = explore(program(seed, 1))
        assert not truth.capped
        for weight in (1, WARPS):
            run = Run(
                Document("random"), None, program(seed, weight), Execution(program(seed, weight)).run(), ()
            )
            found = orders(run)
            assert found is None or found.decided
            hangs = bool(run.execution.blocked) or (found is not None and found.stuck is not None)
            assert hangs == truth.deadlock, seed
        stuck += truth.deadlock
        later += truth.deadlock and not run.execution.blocked
    assert stuck > 50 and later > 5 and stuck < PROGRAMS - 50


def test_the_stepper_gives_and_takes():
    made = Program(
        tuple(
            Stream(name, 0, 4, (0, 1, 2, 3), [Event(EventKind.REGISTERS, name, barrier=0, bytes=n)])
            for name, n in (("less", -8), ("more", 6))
        ),
        (Barrier("pool", BarrierKind.POOL, 0, "", "pool"),),
    )
    stepper = Stepper(made)
    first, second = stepper.start, stepper.step(stepper.start, stepper.moves(stepper.start)[0])
    assert [m.stream for m in stepper.moves(first)] == [0] and stepper.blocked(first, 1)
    assert [tuple(o) for o in stepper.owed(first, 0)] == [(0, 32)]
    assert second.barriers[0].spare == 32
    assert stepper.ended(stepper.step(second, stepper.moves(second)[0]))


def test_the_predicted_timeline_waits_for_the_pool():
    for made, ended in ((rule.HAZARD.good, True), (rule.HAZARD.bad, False)):
        timeline = simulate(made, {})
        assert timeline.ended is ended
        assert any(b.barrier == "the pool of registers" for b in timeline.blocked) is not ended
