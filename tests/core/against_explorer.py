"""The verifier's one execution against every interleaving, on as many random programs as one wants:

python tests/core/against_explorer.py SEED COUNT [KIND]...
"""

from __future__ import annotations

import random
import sys
from time import perf_counter

from explorer import explore
from more_programs import group_program, meeting_program, parity_program, peeking_program
from pipeline_programs import accumulator_program, any_program, bytes_program, pair_program
from programs import cluster_program, copying_program, mutated_ring, random_program, tensor_program

from warpdraft.core.clocks import Execution

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
    accumulator_program,
    bytes_program,
    pair_program,
    any_program,
)
CAP = 20_000  # states; a program with more is left out
SECONDS = 10  # between two lines


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
    """The program in lines, to look at."""
    lines = [f"{b.name} {b.kind.name} count {b.count}" for b in program.barriers]
    for stream in program.streams:
        lines.append(stream.name)
        for e in stream.events:
            lines.append(
                f"  {e.kind.name} barrier {e.barrier} number {e.number} parity {e.parity} bytes {e.bytes} {e.engine or ''} "
                + (f"also {e.also} " if e.also else "")
                + " ".join(f"{'w' if a.write else 'r'}[{a.low},{a.high})" for a in e.accesses)
            )
    return "\n".join(lines)


def compare(make, count: int, seed: int, tell=lambda number: None) -> tuple[int, list[str]]:
    """``count`` programs of one kind: how many had too many states, and each disagreement with its program."""
    capped, wrong = 0, []
    for number in range(count):
        program = make(random.Random(f"{seed} {number}"))
        said = disagreement(program)
        capped += said == "capped"
        if said not in ("", "capped"):
            wrong.append(f"{make.__name__} {seed} {number}: {said}\n{dump(program)}")
        tell(number + 1)
    return capped, wrong


def main() -> None:
    """COUNT programs in all, as many of each kind: a line every ten seconds, and one for each kind at its end."""
    seed, count, *names = sys.argv[1:]
    kinds = [make for make in KINDS if not names or make.__name__ in names]
    each, failed, told = -(-int(count) // len(kinds)), 0, perf_counter()

    def tell(number: int) -> None:
        nonlocal told
        if perf_counter() > told + SECONDS:
            print(f"  {make.__name__} {number} of {each}", file=sys.stderr, flush=True)
            told = perf_counter()

    for make in kinds:
        capped, wrong = compare(make, each, int(seed), tell)
        failed += len(wrong)
        print(
            f"{make.__name__}: {each} programs, {capped} with too many states, {len(wrong)} disagreements",
            flush=True,
        )
        for text in wrong:
            print(text, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
