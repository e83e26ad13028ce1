"""The stepper: every legal move, back by keeping states, and the same ends as the brute-force explorer."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpdraft.core.edits import DeleteNode
from warpdraft.core.simulate import default_values
from warpdraft.core.stepper import Stepper
from warpdraft.core.store import load
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"


def stepper_of(document, **values):
    return Stepper(unroll(document, {**default_values(document), **values}, representatives=True))


def wander(stepper, seed, limit=20_000):
    """Random legal moves to an end."""
    state, chance = stepper.start, random.Random(seed)
    for _ in range(limit):
        moves = stepper.moves(state)
        if not moves:
            return state
        state = stepper.step(state, chance.choice(moves))
    raise AssertionError("no end")


@pytest.mark.parametrize("name", ["tma_copy", "gemm", "persistent_gemm"])
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_safe_schedule_always_comes_to_its_end(name, seed):
    document = load(EXAMPLES / f"{name}.warpdraft.json")
    stepper = stepper_of(document)
    state = wander(stepper, seed)
    assert not state.wrong and stepper.ended(state) and not state.flights


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_deadlock_is_always_reached_and_says_who_owes(seed):
    document = load(EXAMPLES / "broken_deadlock.warpdraft.json")
    stepper = stepper_of(document)
    state = wander(stepper, seed)
    stuck = [w for w in range(len(state.at)) if stepper.blocked(state, w)]
    assert stuck and not stepper.ended(state)
    for w in stuck:
        event = stepper.next_event(state, w)
        if event.barrier >= 0:
            assert all(owed.arrivals >= 0 for owed in stepper.owed(state, event.barrier))


def test_moves_are_checked_and_states_stay():
    stepper = stepper_of(load(EXAMPLES / "gemm.warpdraft.json"))
    start = stepper.start
    moves = stepper.moves(start)
    after = stepper.step(start, moves[0])
    assert after != start and stepper.start == start
    blocked = next(w for w in range(len(start.at)) if stepper.blocked(start, w))
    with pytest.raises(ValueError):
        stepper.step(start, moves[0]._replace(stream=blocked))


def test_each_deletion_that_hangs_one_order_is_reported():
    document = load(EXAMPLES / "gemm.warpdraft.json")
    from warpdraft.core.tree import placed

    for place in list(placed(document))[:20]:
        changed = DeleteNode(place.node.id).apply(document)
        stepper = stepper_of(changed)
        state = wander(stepper, 1)
        if state.wrong or not stepper.ended(state):
            assert verify(changed).verdict == "unsafe", place.node.id
