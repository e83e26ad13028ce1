"""Stretches of ops that are unrolled once make the events that a walk op by op makes."""

from pathlib import Path

import pytest

from warpdraft.core.conditions import condition_keys
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.machine import Machine
from warpdraft.core.store import load
from warpdraft.core.stretches import Stretch
from warpdraft.core.unroll import WarpWalk, streams_of
from warpdraft.core.valuations import running, symbol_ranges

EXAMPLES = sorted((Path(__file__).parents[2] / "assets" / "examples").glob("*.warpdraft.json"))
DOCUMENTS = {path.stem: load(path) for path in EXAMPLES}
DOCUMENTS |= {f"{h.code} {side}": getattr(h, side) for h in HAZARDS for side in ("bad", "good")}


class OpByOp(WarpWalk):
    def parts(self, node):
        return node.body


def walked(kind, machine, task, stream, values, conditions):
    walk = kind(machine, task, stream, values, conditions)
    walk.whole()
    return walk


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_walk_by_stretches_makes_the_same_events(name):
    document = DOCUMENTS[name]
    ours, plain = Machine(document), Machine(document)
    more = running(document)
    least = {n: values[0] for n, values in symbol_ranges(document).items()}
    twice = {n: 2 * v + 1 for n, v in more.items()}
    alternating = {key: (True, False, True) for key in condition_keys(document)}
    for values in (least, more, twice):
        for conditions in ({}, alternating):
            streams = zip(streams_of(ours), streams_of(plain), strict=True)
            for (task, stream), (_, other) in streams:
                one = walked(WarpWalk, ours, task, stream, values, conditions)
                two = walked(OpByOp, plain, task, other, values, conditions)
                assert stream.events == other.events
                assert stream.strays == other.strays
                assert one.cursor == two.cursor
                assert one.works.views == two.works.views


def test_an_iteration_behind_the_first_lap_is_walked_once():
    machine = Machine(DOCUMENTS["persistent_gemm.warpdraft"])
    task, stream = next(streams_of(machine))
    walked(WarpWalk, machine, task, stream, {"k_tiles": 4, "tiles": 5}, {})
    of = [p for parts in machine.stretches["load", (0,), 0].values() for p in parts if isinstance(p, Stretch)]
    assert [len(s.nodes) for s in of] == [5]
    assert len(of[0].made) <= 5  # four stages, and one before any use
