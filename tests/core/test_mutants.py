"""One mistake in a shipped example is noticed, or makes no difference that any interleaving shows."""

import os
import random

import pytest
from mutants import SAFE, killed, mutants, reduced, truth

SAMPLE = 8  # mutants of each example in the usual run; all of them in the long one


@pytest.mark.timeout(7200 if os.environ.get("WARPDRAFT_LONG") else 600)  # by the clock, on a busy machine
@pytest.mark.parametrize("name", SAFE)
def test_mutants_are_killed_or_equivalent(name):
    whole = reduced(name)
    every = list(mutants(whole))
    chosen = every if os.environ.get("WARPDRAFT_LONG") else random.Random(name).sample(every, SAMPLE)
    left = [(what, mutant) for what, mutant in chosen if not killed(mutant, whole)]
    assert len(left) < len(chosen) * 0.7
    wrong = [what for what, mutant in left if truth(mutant) == "wrong"]
    assert not wrong


def test_the_whole_examples_are_right():
    assert all(truth(reduced(name)) != "wrong" for name in SAFE)


def test_a_mutant_that_matters_is_killed():
    whole = reduced("tma_copy")
    mutant = dict(mutants(whole))["load: without load.03"]
    assert killed(mutant, whole)
