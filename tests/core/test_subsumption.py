"""States whose warps know more need not be explored: the same is found as where only equal states are left out."""

import os
import random

import pytest
from schedules import random_schedule
from test_closure import conditional
from test_periodic import random_nest, shaken

from warpdraft.core import closure
from warpdraft.core.expressions import Symbol
from warpdraft.core.hazards.examples import (
    acquire,
    channel,
    commit,
    document,
    loop,
    release,
    task,
    tiles,
    wait,
    work,
)
from warpdraft.core.shift import same
from warpdraft.core.verify import verify

COUNT = 800 if os.environ.get("WARPDRAFT_LONG") else 16


def equal(machine, growth, uses, askers, *states):
    return same(machine, growth, uses, *states)


def outcome(report):
    return report.verdict, {f.code for f in report.findings}


@pytest.mark.timeout(7200 if os.environ.get("WARPDRAFT_LONG") else 600)
@pytest.mark.parametrize("make", [random_schedule, random_nest])
@pytest.mark.parametrize("break_it", [False, True])
def test_as_where_states_must_be_equal(make, break_it, monkeypatch):
    rng, both = random.Random(f"subsumption {make.__name__} {break_it}"), 0
    for number in range(COUNT):
        found = conditional(shaken(make(rng), rng) if break_it else make(rng), rng, inside=rng.random() < 0.5)
        report = verify(found)
        with monkeypatch.context() as patched:
            patched.setattr(closure, "covers", equal)
            strict = verify(found)
        if "all" in (report.scope.kind, strict.scope.kind):
            both += report.scope.kind == strict.scope.kind
            assert report.verdict == strict.verdict, (number, outcome(report), outcome(strict))
        else:
            assert outcome(report) == outcome(strict), (number, outcome(report), outcome(strict))
    assert both or break_it


def counted(monkeypatch, found, compare=None):
    """How many states of ``found`` are explored, all closures together."""
    explored = []
    explore = closure.Closure.explore

    def counting(self):
        fine = explore(self)
        explored.append(self.states)
        return fine

    with monkeypatch.context() as patched:
        patched.setattr(closure.Closure, "explore", counting)
        if compare:
            patched.setattr(closure, "covers", compare)
        assert verify(found).scope.kind == "all"
    return sum(explored)


def test_fewer_states(monkeypatch, nested_rings):
    assert 0 < counted(monkeypatch, nested_rings) < counted(monkeypatch, nested_rings, equal)


@pytest.fixture
def nested_rings():
    """Tiles of a loop over k: how far back in it the loads know of the math differs from tile to tile."""
    k, t = Symbol("k_tiles"), Symbol("tiles")
    fill = loop(acquire("x"), work("x", "fill"), commit("x"), stop=k)
    read = loop(wait("x"), work("x", "read"), release("x"), stop=k)
    hand = acquire("y"), read, work("y", "fill"), commit("y")
    return document(
        "tiles over a ring",
        task("load", 0, 1, tiles(fill, stop=t)),
        task("math", 4, 1, tiles(*hand, stop=t)),
        task("store", 8, 1, tiles(wait("y"), work("y", "read"), release("y"), stop=t)),
        resources=(channel("x", 3), channel("y", 2)),
        symbols=(k, t),
    )
