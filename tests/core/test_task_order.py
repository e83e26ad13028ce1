"""What is found does not depend on the order in which a document lists its tasks."""

import random
from dataclasses import replace
from itertools import islice, permutations, product

import pytest
from schedules import random_schedule

from warpdraft.core.document import Mbarrier
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.hazards.base import no_advice
from warpdraft.core.hazards.examples import document, mbar_arrive, mbar_wait, task
from warpdraft.core.verify import verify

MOST = 6  # orders of one schedule


def rows(schedule, strict_lanes=False):
    return {(f.code, f.severity) for f in verify(schedule, strict_lanes=strict_lanes).findings}


def same_in_every_order(schedule, strict_lanes=False):
    expected = rows(schedule, strict_lanes)
    for order in islice(permutations(schedule.tasks), 1, MOST):
        assert rows(replace(schedule, tasks=order), strict_lanes) == expected, [t.name for t in order]
    return {code for code, _ in expected}


CHECKED = [
    h for h in HAZARDS if len(h.bad.tasks) > 1 and h.advise is no_advice
]  # advice is not part of a check


@pytest.mark.parametrize("hazard", CHECKED, ids=lambda h: h.code)
def test_bad_examples(hazard):
    assert hazard.code in same_in_every_order(hazard.bad, hazard.strict_lanes)


@pytest.mark.parametrize("seed", range(40))
def test_random_schedules_with_mistakes(seed):
    same_in_every_order(random_schedule(random.Random(seed)))


def empty_tiles(kinds, flips):
    """Work and empty tiles: on an empty one the correction role ``flips`` its parity though nobody arrives."""
    mma, corr, parity, done = [], [], 0, 0
    for has_work in kinds:
        if has_work:
            mma += [mbar_wait("empty", (done - 1) & 1)] if done else []
            mma.append(mbar_arrive("full"))
            corr += [mbar_wait("full", parity), mbar_arrive("empty")]
            done += 1
        if has_work or flips:
            parity ^= 1
    return document(
        "empty tiles",
        task("mma", 0, 1, *mma),
        task("corr", 4, 1, *corr),
        mbarriers=(Mbarrier("full", 1), Mbarrier("empty", 1)),
        symbols=(),
    )


@pytest.mark.parametrize("kinds", [k for n in range(1, 5) for k in product((1, 0), repeat=n)])
def test_empty_tiles(kinds):
    """Case C16: an odd run of empty tiles before work inverts the parity of what follows."""
    runs = "".join(map(str, kinds)).rstrip("0").split("1")[:-1]
    broken = any(len(run) % 2 for run in runs)
    found = same_in_every_order(empty_tiles(kinds, flips=True))
    assert ("WD204" in found) == broken and (broken or not found)
    assert not same_in_every_order(empty_tiles(kinds, flips=False))
