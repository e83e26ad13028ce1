"""The verifier's one execution against every interleaving: they must agree on deadlock, race and determinacy."""

import os
import random

import pytest
from explorer import explore
from more_programs import group_program, meeting_program, parity_program, peeking_program
from programs import (
    arrive,
    bar_arrive,
    cluster_program,
    copying_program,
    ld,
    mutated_ring,
    peek,
    program,
    random_program,
    st,
    sync,
    tensor_program,
    wait,
)

from warpdraft.core.clocks import Execution

PROGRAMS = 1200  # of each kind, in the usual test run
LONG = 20_000
KINDS = (
    random_program,
    mutated_ring,
    cluster_program,
    tensor_program,
    copying_program,
    meeting_program,
    parity_program,
    group_program,
    peeking_program,
)
CAP = 20_000  # states; a program with more is left out


def disagreement(program) -> str:
    """What the verifier and the explorer say differently about ``program`` ("" if nothing, "capped" if unknown)."""
    run, truth = Execution(program).run(), explore(program, CAP)
    if truth.capped:
        return "capped"
    incidents = [i.kind for i in run.incidents]
    stuck, races = bool(run.blocked), bool(run.races.found)
    if run.stopped:
        return "" if truth.undetermined else f"{run.stopped} {incidents}, but all interleavings agree"
    if not incidents:
        if truth.undetermined:
            return "called well synchronised, but interleavings differ"
        if stuck != truth.deadlock:
            return f"deadlock {stuck}, in truth {truth.deadlock}"
        if races != bool(truth.races):
            return f"race {races}, in truth {bool(truth.races)}"
        return ""
    if not truth.undetermined:
        return f"{incidents}, but all interleavings agree"
    if stuck and not truth.deadlock:
        return "deadlock, in truth none"
    # A phase that its bytes may close early can keep apart what this execution leaves unordered (R3 is outside the lemma).
    if races and not truth.races and not truth.over_arrival and "early_close" not in incidents:
        return "race, in truth none"
    return ""


def dump(program) -> str:
    lines = [f"{b.name} {b.kind.name} count {b.count}" for b in program.barriers]
    for stream in program.streams:
        lines.append(stream.name)
        for e in stream.events:
            lines.append(
                f"  {e.kind.name} barrier {e.barrier} number {e.number} parity {e.parity} bytes {e.bytes} {e.engine or ''} "
                + " ".join(f"{'w' if a.write else 'r'}[{a.low},{a.high})" for a in e.accesses)
            )
    return "\n".join(lines)


@pytest.mark.parametrize("make", KINDS)
def test_verifier_and_explorer_agree(make):
    _agree(make, PROGRAMS, seed=0)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("seed", range(1, 4))
def test_verifier_and_explorer_agree_for_long(make, seed):
    _agree(make, int(os.environ.get("WARPDRAFT_PROGRAMS", LONG)), seed)


def _agree(make, count: int, seed: int) -> None:
    capped = 0
    for number in range(count):
        program = make(random.Random(f"{seed} {number}"))
        said = disagreement(program)
        capped += said == "capped"
        assert said in ("", "capped"), f"program {seed} {number}: {said}\n{dump(program)}"
    assert capped < count // 10


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
