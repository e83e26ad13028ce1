"""Stages that one task opens and another closes (WD217), and rings of one task or made from themselves (WD115)."""

from dataclasses import replace

import pytest
from against_explorer import disagreement
from explorer import explore

from warpdraft.core.document import Engine, NamedBarrier, OpKind, Work
from warpdraft.core.hazards import self_edge, split_consumer
from warpdraft.core.hazards.examples import (
    acquire,
    buffer,
    channel,
    commit,
    document,
    loop,
    release,
    sync,
    task,
    wait,
    work,
)
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

FILL = loop(acquire("x"), work("x", "fill"), commit("x"))


def split(stages, users, proxy="token", warps=1):
    """One task waits for x; each of ``users`` tasks reads and releases it, told by a token, a barrier, or nobody."""
    tokens = [channel(f"token{i}", stages) for i in range(users)] if proxy == "token" else []
    barriers = (
        [NamedBarrier(f"told{i}", i + 1, 64 * warps) for i in range(users)] if proxy == "barrier" else []
    )
    told = {
        "token": [n for t in tokens for n in (acquire(t.name), commit(t.name))],
        "barrier": [sync(b.name) for b in barriers],
        "": [],
    }[proxy]
    hears = {
        "token": [((wait(t.name),), (release(t.name),)) for t in tokens],
        "barrier": [((sync(b.name),), ()) for b in barriers],
        "": [((), ())] * users,
    }[proxy]
    names = [t.name for t in tokens]
    return document(
        f"{users} users of {stages} stages",
        task("load", 0, 1, FILL),
        task("watch", 1, warps, loop(wait("x"), *told), src=("x",), dst=tuple(names)),
        *(
            task(
                f"use{i}",
                4 + i * warps,
                warps,
                loop(*before, work("x", "read"), release("x"), *after),
                src=("x", *names[i : i + 1]),
            )
            for i, (before, after) in enumerate(hears)
        ),
        resources=(channel("x", stages, advance_on_wait=True), *tokens),
        barriers=tuple(barriers),
    )


def codes(found):
    return {f.code for f in verify(found).errors}


@pytest.mark.parametrize("users", [1, 2, 3])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("proxy", ["token", "barrier"])
def test_a_split_consumer_that_is_ordered_is_proved(stages, users, proxy):
    report = verify(split(stages, users, proxy))
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.findings
    assert not report.findings


@pytest.mark.parametrize("users", [1, 2, 3])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_split_consumer_that_nothing_orders_is_found(stages, users):
    found = split(stages, users, proxy="")
    assert len(list(split_consumer.check(found))) == users
    assert "WD217" in codes(found)


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("proxy", ["token", "barrier", ""])
def test_every_interleaving_of_a_split_consumer_agrees(stages, proxy):
    program = unroll(split(stages, 1, proxy), {"k_tiles": 3})
    assert disagreement(program) == ""
    truth = explore(program)
    assert bool(truth.races or truth.undetermined or truth.deadlock) == (proxy == "")


def test_an_arrival_that_nobody_waits_for_hands_nothing_on():
    """The watcher only arrives where the user only arrives too: neither knows of the other."""
    found = split(2, 1, "barrier")

    def arrives(n):
        if hasattr(n, "body"):
            return replace(n, body=tuple(map(arrives, n.body)))
        return replace(n, kind=OpKind.BARRIER_ARRIVE) if n.kind is OpKind.BARRIER_SYNC else n

    only = replace(found, tasks=tuple(replace(t, body=tuple(map(arrives, t.body))) for t in found.tasks))
    assert "WD217" in {f.code for f in split_consumer.check(only)}


def producers(ordered):
    """One task acquires x, another fills and commits it."""
    x, token = channel("x", 2, advance_on_acquire=True), channel("token", 2)
    first = (acquire("x"), acquire("token"), commit("token")) if ordered else (acquire("x"),)
    then = (work("x", "fill"), commit("x"))
    then = (wait("token"), *then, release("token")) if ordered else then
    return document(
        "split producer",
        task("open", 0, 1, loop(*first), dst=("x", "token") if ordered else ("x",)),
        task("fill", 1, 1, loop(*then), src=("token",) if ordered else (), dst=("x",)),
        task("use", 4, 1, loop(wait("x"), work("x", "read"), release("x"))),
        resources=(x, token) if ordered else (x,),
    )


@pytest.mark.parametrize("ordered", [True, False])
def test_split_producers_are_treated_alike(ordered):
    assert ("WD217" in codes(producers(ordered))) == (not ordered)
    assert verify(producers(True)).verdict == "safe"


# -- resources that are made from themselves --------------------------------------------------------------------------------
def own_ring(stages, users=0, x=None, **fields):
    """A task that fills a ring and reads it back; ``users`` other tasks read each stage too."""
    both = loop(acquire("x"), work("x", "fill"), commit("x"), wait("x"), work("x", "read"), release("x"))
    read = loop(wait("x"), work("x", "read"), release("x"))
    return document(
        "back and forth",
        task("both", 0, 1, both, **fields),
        *(task(f"use{i}", 4 + i, 1, read) for i in range(users)),
        resources=(x or channel("x", stages),),
        graph=(("x", "x"),),
    )


@pytest.mark.parametrize("users", [0, 1, 2])
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_ring_of_one_task_is_proved(stages, users):
    report = verify(own_ring(stages, users))
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.findings
    assert not [f for f in report.findings if f.code == "WD115"]


@pytest.mark.parametrize(
    "found, problem",
    [
        (own_ring(2, x=buffer("x")), "has no pipeline"),
        (own_ring(2, src=(), dst=("x",)), "no task reads it"),
        (own_ring(2, src=("x",), dst=()), "no task writes it"),
        *(
            (
                own_ring(
                    2, x=replace(channel("x"), works=(Work("fill", "producer"), Work("read", "consumer", e)))
                ),
                "its consumer read runs on behind its op",
            )
            for e in (Engine.WGMMA, Engine.BULK_STORE, Engine.TCGEN05)
        ),
    ],
)
def test_what_a_ring_made_from_itself_needs(found, problem):
    (finding,) = self_edge.check(found)
    assert finding.actual == problem and finding.code == "WD115"


def pingpong(stages):
    """Two tasks hand one ring back and forth: each is producer of one direction and consumer of the other."""
    go = (
        acquire("there"),
        work("there", "fill"),
        commit("there"),
        wait("back"),
        work("back", "read"),
        release("back"),
    )
    come = (
        wait("there"),
        work("there", "read"),
        release("there"),
        acquire("back"),
        work("back", "fill"),
        commit("back"),
    )
    return document(
        "ping-pong",
        task("go", 0, 1, loop(*go)),
        task("come", 1, 1, loop(*come)),
        resources=(channel("there", stages), channel("back", stages)),
        graph=(("there", "back"), ("back", "there")),
    )


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_a_ping_pong_of_two_tasks_is_proved(stages):
    report = verify(pingpong(stages))
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.findings
    program = unroll(pingpong(stages), {"k_tiles": 3})
    assert disagreement(program) == ""
