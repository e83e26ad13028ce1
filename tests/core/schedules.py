"""Random small schedules as documents: a producer, one or two consumer tasks of several warps, and mistakes."""

from __future__ import annotations

import random
from dataclasses import replace

from warpdraft.core.document import Document, NamedBarrier, Op, Signal
from warpdraft.core.hazards.examples import (
    MMA,
    STORE,
    accumulator,
    acquire,
    buffer,
    channel,
    commit,
    document,
    elect,
    fence,
    group_commit,
    group_wait,
    loop,
    output,
    release,
    ring,
    sync,
    task,
    wait,
    work,
)

MEET = NamedBarrier("meet", 1, 64)


def random_schedule(rng: random.Random) -> Document:
    """A schedule that is right, with up to two mistakes; trip counts stay small."""
    stages, warps = rng.choice((1, 1, 2)), rng.choice((1, 2, 3, 4))
    signal = rng.choice((None, None, Signal.WARP, Signal.THREAD, Signal.LEADER))
    tma = rng.random() < 0.5
    make = ring if tma else channel
    consumer = {} if signal is None else {"consumer_signal": signal}
    ab = make("ab", stages, **consumer)
    fill = work("ab", "load") if tma else work("ab", "fill")
    use, after = _consumer(rng, tma)
    producer_warps = 1 if tma else rng.choice((1, 2, 3))
    tasks = [
        task("load", 0, producer_warps, loop(acquire("ab"), fill, commit("ab"))),
        task("use", 4, warps, loop(*use), *after),
    ]
    if rng.random() < 0.3:
        tasks.append(
            task("other", 8, rng.choice((1, 2)), loop(wait("ab"), work("ab", "read"), fence(), release("ab")))
        )
    found = document(
        "random",
        *tasks,
        resources=(ab, accumulator(), buffer("scratch"), output()),
        barriers=(replace(MEET, threads=32 * warps),),
        groups=(MMA, STORE),
    )
    for _ in range(rng.choice((0, 1, 1, 2))):
        found = mutated(found, rng)
    return found


def _consumer(rng: random.Random, tma: bool) -> tuple[list, list]:
    pick = rng.randrange(4)
    if pick == 0:
        return [wait("ab"), work("ab", "read"), fence(), release("ab")], []
    if pick == 1:
        body = [wait("ab"), work("ab", "tile", result="t"), work("acc", "mma", tile="t")]
        body += [group_commit("mma_group"), group_wait("mma_group"), release("ab"), work("acc", "read")]
        return body, []
    if pick == 2:
        body = [wait("ab"), work("ab", "read"), work("scratch", "share"), fence(), sync("meet")]
        body += [
            elect(
                work("scratch", "tile", result="s"),
                work("out", "store", tile="s"),
                group_commit("store_group"),
                group_wait("store_group", 0, read=True),
            ),
            sync("meet"),
            release("ab"),
        ]
        return body, []
    body = [wait("ab"), work("ab", "read"), work("scratch", "share"), sync("meet"), work("scratch", "read")]
    return [*body, sync("meet"), fence(), release("ab")], []


def mutated(found: Document, rng: random.Random) -> Document:
    """One op deleted, doubled or swapped with its neighbour; or one count changed."""
    place = rng.randrange(len(found.tasks))
    if rng.random() < 0.2:
        resource = found.resources[0]
        field = rng.choice(("producer_count", "consumer_count"))
        pipeline = replace(resource.pipeline, **{field: rng.choice((1, 2, 3, 4, 32, 64))})
        return replace(found, resources=(replace(resource, pipeline=pipeline), *found.resources[1:]))
    changed = found.tasks[place]
    body = changed.body[0].body
    i = rng.randrange(len(body))
    match rng.randrange(3):
        case 0:
            body = body[:i] + body[i + 1 :]
        case 1:
            doubled = replace(body[i], id=body[i].id + "b") if isinstance(body[i], Op) else body[i]
            body = (*body[: i + 1], doubled, *body[i + 1 :])
        case 2:
            j = min(i + 1, len(body) - 1)
            middle = (body[j], body[i]) if i != j else (body[i],)
            body = (*body[:i], *middle, *body[j + 1 :])
    new = replace(changed, body=(replace(changed.body[0], body=body), *changed.body[1:]))
    return replace(found, tasks=(*found.tasks[:place], new, *found.tasks[place + 1 :]))
