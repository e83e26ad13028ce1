"""One mistake in a shipped example is noticed, or makes no difference that any interleaving shows."""

import os
import random

import pytest
from example_mutants import SAFE, fate, mutants, noticed, programs, reduced
from explorer import explore

from warpdraft.core.machine import Machine
from warpdraft.core.unroll import unroll

SAMPLE = 3  # mutants of each example in the usual run; all of them in the long one


@pytest.mark.timeout(7200 if os.environ.get("WARPDRAFT_LONG") else 600)  # by the clock, on a busy machine
@pytest.mark.parametrize("name", SAFE)
def test_mutants_are_noticed_or_equivalent(name):
    every = list(mutants(reduced(name)))
    chosen = every if os.environ.get("WARPDRAFT_LONG") else random.Random(name).sample(every, SAMPLE)
    left = [
        (what, said) for what, mutant in chosen if (said := fate(mutant)) not in ("noticed", "equivalent")
    ]
    assert not left


@pytest.mark.parametrize("name", SAFE)
def test_the_whole_example_is_right_in_its_one_order(name):
    whole = reduced(name)
    assert not noticed(whole)
    program = next(programs(whole))
    outcome = explore(program)
    assert not outcome.wrong and not outcome.capped
    assert outcome.states < 2 * program.events  # of all steps that are possible one is enough, in every state


def test_a_mutant_that_matters_is_noticed():
    mutant = dict(mutants(reduced("tma_copy")))["load: without load.03"]
    assert noticed(mutant)


def test_mutants_that_are_explored_in_every_order_show_the_same():
    whole = reduced("tma_copy")
    for _, mutant in random.Random("orders").sample(list(mutants(whole)), 30):
        program = unroll(Machine(mutant), {"tiles": 1, "chunks": 2})
        some, every = explore(program), explore(program, every=True)
        assert (some.deadlock, bool(some.races), some.undetermined) == (
            every.deadlock,
            bool(every.races),
            every.undetermined,
        )
