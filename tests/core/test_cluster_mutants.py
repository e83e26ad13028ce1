"""Schedules of two CTAs with mistakes in them: the verifier, the brute-force explorer and the stepper must agree."""

import random
from dataclasses import replace

import pytest
from against_explorer import disagreement, dump
from test_clusters import handshake, pair, shared_ring

from warpdraft.core.document import Op
from warpdraft.core.edits import DeleteNode, EditError, MoveNode
from warpdraft.core.expressions import Symbol
from warpdraft.core.hazards import scheduler_desync
from warpdraft.core.hazards.examples import acquire, commit, document, release, task, tiles, wait, work
from warpdraft.core.machine import Machine
from warpdraft.core.stepper import Stepper
from warpdraft.core.tree import placed
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

NUMBER = 20


def small_pair():
    d = pair()
    tasks = tuple(replace(t, num_warps=1) for t in d.tasks)
    rings = tuple(replace(r, pipeline=replace(r.pipeline, stages=1)) for r in d.resources)
    return replace(d, tasks=tasks, resources=rings)


def scheduler():
    """One request of CTA 0 for the tiles of both, and a reader in each."""
    fetch = acquire("queue"), work("queue", "fetch_work_tile"), commit("queue")
    read = wait("queue"), work("queue", "get_and_advance_work_tile"), release("queue")
    queue = scheduler_desync.scheduler()
    queue = replace(queue, pipeline=replace(queue.pipeline, cta_layout=(1, 2, 1, 1)))
    return document(
        "a scheduler for two CTAs",
        task("sched", 0, 1, tiles(*fetch, stop=Symbol("k_tiles"))),
        task("use", 1, 1, tiles(*read, stop=Symbol("k_tiles"))),
        resources=(queue,),
        symbols=(Symbol("k_tiles"),),
        target="sm_100a",
        cluster=(2, 1, 1),
        graph=(),
    )


BASES = {
    "multicast": shared_ring(stages=1),
    "own copies": shared_ring(ctas="own", stages=1),
    "no end": shared_ring(stages=1, end=False),
    "pair": small_pair(),
    "handshake": handshake(),
    "one way": handshake(back=False),
    "scheduler": scheduler(),
}


def mutant(base, rng):
    """``base`` with up to two ops gone, moved or for other CTAs, or another count."""
    document = base
    for _ in range(rng.randint(1, 2)):
        ops = [p.node for p in placed(document) if isinstance(p.node, Op)]
        op = rng.choice(ops)
        match rng.randrange(4):
            case 0:
                document = DeleteNode(op.id).apply(document)
            case 1:
                document = _moved(document, op.id, rng)
            case 2:
                document = _changed(document, op, rng.choice(["", "peer", "all", (0,), (1,)]))
            case 3:
                count = rng.choice((1, 2, 3))
                document = replace(
                    document,
                    mbarriers=tuple(replace(m, count=count) for m in document.mbarriers),
                    resources=tuple(
                        replace(r, pipeline=replace(r.pipeline, consumer_count=count)) if r.pipeline else r
                        for r in document.resources
                    ),
                )
    return document


def _moved(document, id, rng):
    place = rng.choice([p for p in placed(document) if isinstance(p.node, Op)])
    parent = place.parents[-1].id if place.parents else place.task.name
    try:
        return MoveNode(id, parent, rng.randrange(3)).apply(document)
    except EditError:
        return document


def _changed(document, op, ctas):
    if not op.kind.value.startswith(("mbarrier_arrive", "work")):
        return document

    def change(nodes):
        return tuple(
            (replace(n, ctas=ctas) if n.id == op.id else n)
            if isinstance(n, Op)
            else replace(n, body=change(n.body))
            for n in nodes
        )

    return replace(document, tasks=tuple(replace(t, body=change(t.body)) for t in document.tasks))


@pytest.mark.parametrize("name", BASES)
def test_every_interleaving_agrees(name):
    capped = 0
    for number in range(NUMBER):
        document = mutant(BASES[name], random.Random(f"{name} {number}"))
        program = unroll(Machine(document), {"k_tiles": 1 + number % 2})
        said = disagreement(program)
        capped += said == "capped"
        assert said in ("", "capped"), f"{name} {number}: {said}\n{dump(program)}"
    assert capped < NUMBER


@pytest.mark.parametrize("name", BASES)
def test_what_hangs_in_one_order_is_unsafe(name):
    for number in range(NUMBER // 2):
        rng = random.Random(f"{name} {number}")
        document = mutant(BASES[name], rng)
        stepper = Stepper(unroll(Machine(document), {"k_tiles": 2}, representatives=True))
        state = stepper.start
        while moves := stepper.moves(state):
            state = stepper.step(state, rng.choice(moves))
        if state.wrong or not stepper.ended(state):
            assert verify(document).verdict == "unsafe", f"{name} {number}"
