"""Two representatives of identical warps decide as much as all of them; and schedules agree with the explorer."""

import random

import pytest
from against_explorer import disagreement
from schedules import random_schedule

from warpdraft.core.clocks import Execution
from warpdraft.core.fencing import judged
from warpdraft.core.unroll import unroll

SCHEDULES = 400
LONG = 8_000
EXPLORED = 120


def verdict(found, trips: int, representatives: bool) -> tuple:
    program = unroll(found, {"k_tiles": trips}, representatives=representatives)
    run = Execution(program, judged(found)).run()
    wrong = [i for i in run.incidents if i.kind != "alias"]
    if wrong:
        return ("not well synchronised",)
    return (bool(run.blocked), bool(run.races.found), bool(run.races.unfenced))


def _compare(count: int, seed: str) -> None:
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        found, trips = random_schedule(rng), rng.choice((1, 2, 3))
        few, all_warps = verdict(found, trips, True), verdict(found, trips, False)
        assert few == all_warps, (
            f"schedule {seed} {number}, {trips} trips: {few} with two warps, {all_warps} with all"
        )


def test_two_representatives_are_enough():
    _compare(SCHEDULES, "representatives")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_representatives_are_enough_for_long():
    _compare(LONG, "representatives for long")


def test_random_schedules_agree_with_the_explorer():
    capped = 0
    for number in range(EXPLORED):
        rng = random.Random(f"explored {number}")
        said = disagreement(unroll(random_schedule(rng), {"k_tiles": rng.choice((1, 2))}))
        capped += said == "capped"
        assert said in ("", "capped"), f"schedule {number}: {said}"
    assert capped < EXPLORED // 2
