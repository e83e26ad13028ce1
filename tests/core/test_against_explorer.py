"""The verifier's one execution against every interleaving: they must agree on deadlock, race and determinacy."""

import os
import random

import pytest
from explorer import explore
from programs import cluster_program, copying_program, mutated_ring, random_program, tensor_program

from warpdraft.core.clocks import Execution

PROGRAMS = 2000  # of each kind, in the usual test run
LONG = 20_000
KINDS = (random_program, mutated_ring, cluster_program, tensor_program, copying_program)
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
