"""The verifier's one execution against every interleaving: they must agree on deadlock, race and determinacy."""

import os
import random

import pytest
from against_explorer import CAP, KINDS, compare, disagreement, dump
from explorer import explore
from programs import arrive, bar_arrive, ld, peek, program, st, sync, wait

from warpdraft.core.clocks import Execution

PROGRAMS = 500  # of each kind, in the usual test run
LONG = 16_000


@pytest.mark.parametrize("make", KINDS)
def test_verifier_and_explorer_agree(make):
    _agree(make, PROGRAMS, seed=0)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("make", KINDS)
def test_verifier_and_explorer_agree_for_long(make):
    _agree(make, int(os.environ.get("WARPDRAFT_PROGRAMS", LONG)), seed=1)


def _agree(make, count: int, seed: int) -> None:
    capped, wrong = compare(make, count, seed)
    assert not wrong, wrong[0]
    assert capped < count // 10


def test_the_long_run_has_200_000_programs():
    assert len(KINDS) * LONG >= 200_000 and len(KINDS) * PROGRAMS >= 5_000


@pytest.mark.parametrize("make", KINDS)
def test_some_programs_are_right_and_some_are_not(make):
    """Else they would agree on nothing."""
    runs = [Execution(make(random.Random(f"0 {n}"))).run() for n in range(300)]
    right = sum(not (r.incidents or r.blocked or r.races.found or r.stopped) for r in runs)
    assert 0 < right < len(runs)


@pytest.mark.parametrize("make", KINDS)
def test_what_the_explorer_leaves_out_shows_nothing(make):
    for number in range(40):
        program = make(random.Random(f"every {number}"))
        some, every = explore(program, CAP), explore(program, CAP, every=True)
        if not every.capped:
            assert some.states <= every.states
            what = "deadlock races over_arrival alias split landed passed final undetermined".split()
            assert [getattr(some, x) for x in what] == [getattr(every, x) for x in what], dump(program)


def test_peeks_far_ahead_of_their_phase():
    """Where the phase before never comes, a peek says no in every interleaving; where it may come, it may say yes."""
    stuck = [[wait(0, -1), arrive(1)], [peek(1, 2), wait(1, 2), arrive(0)]]
    assert not disagreement(program(stuck, [1, 2])) and not Execution(program(stuck, [1, 2])).run().incidents
    comes = [[arrive(1)], [peek(1, 2), st(0), wait(1, 0)]]
    assert [i.kind for i in Execution(program(comes, [1, 1])).run().incidents] == ["early_pass"]
    assert not disagreement(program(comes, [1, 1]))


def test_who_leaves_a_named_barrier_late_knows_no_later_generation():
    """The second warp arrives for the next generation and joins it again before the first one has woken."""
    streams = [[sync(0), sync(0), sync(0)], [sync(0), bar_arrive(0), sync(0)]]
    assert Execution(program(streams, [], [2])).run().incidents
    # the first warp reads what the third writes before it meets the fourth, while the first is still on its way out
    later = [
        [sync(0), ld(0)],
        [sync(0), bar_arrive(1), bar_arrive(2)],
        [sync(1), st(0), sync(0)],
        [sync(2), sync(0)],
    ]
    made = program(later, [], [2, 2, 2])
    assert explore(made).races and Execution(made).run().races.found
