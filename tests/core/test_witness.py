"""What the verifier claims can be replayed: the events before a hazard, in its order, lead a machine to it."""

import random

import pytest
from explorer import Explorer, State
from programs import mutated_ring, random_program
from witnesses import check_witnesses, followable

from warpdraft.core import phases
from warpdraft.core import run as run_of_witness
from warpdraft.core.clocks import Execution
from warpdraft.core.document import Document, Engine
from warpdraft.core.hazards import HAZARDS
from warpdraft.core.program import EventKind
from warpdraft.core.run import Run, join_clocks
from warpdraft.core.verify import verify

PROGRAMS = 1500


class Logged(Execution):
    """An execution that remembers where every contribution landed."""

    def __init__(self, program):
        super().__init__(program)
        self.landed = {}

    def contribute(self, w, j, b, kind, nbytes):
        self.landed.setdefault((w, j), (b, self.state[b].completed))
        super().contribute(w, j, b, kind, nbytes)


class Replay:
    """Executes given events on the explorer's machine; an asynchronous op completes at once if ``clock`` knows its end."""

    def __init__(self, run: Run, clock):
        self.run, self.clock, self.explorer = run, clock, Explorer(run.program)
        n = len(run.program.streams)
        barriers = tuple(b.start for b in run.program.barriers)
        self.state = State((0,) * n, (-1,) * n, (), barriers)

    def step(self, w: int, before) -> bool:
        """Executes the next event of stream ``w``; False where it meets a barrier with nothing pending (undefined)."""
        i = self.state.at[w]
        event = self.explorer.events[w][i]
        if event.kind is EventKind.SYNC:  # it meets those that came here earlier and still wait
            for u, place in enumerate(self.state.at):
                if u != w and place < before[u]:
                    other = self.explorer.events[u][place]
                    if (other.kind, other.barrier) == (event.kind, event.barrier):
                        self._try(u)
        while self.state.at[w] == i:  # a sync takes two steps
            if not self._try(w):
                return False
        self.complete()
        return True

    def _try(self, w: int) -> bool:
        i = self.state.at[w]
        if self.state.inside[w] < 0 or phases.released(
            self.state.barriers[self.explorer.events[w][i].barrier], self.state.inside[w]
        ):
            after = next(iter(self.explorer._warp(self.state, w, i, self.explorer.events[w][i])), None)
            assert after is not None or self.explorer.outcome.over_arrival, (
                f"event {i} of stream {w} is blocked"
            )
            if after is None:
                return False
            self.state = after
        return True

    def complete(self) -> None:
        """Completes what is known complete, as often as that helps."""
        for place, (w, i, stage) in enumerate(self.state.flying):
            if not self.known(w, i):
                continue
            after = next(iter(self.explorer._complete(self.state, place, w, i, stage)), None)
            if after is not None:
                self.state = after
                return self.complete()

    def known(self, w: int, i: int) -> bool:
        """Whether the end of the op is among what happened before."""
        execution, event = self.run.execution, self.explorer.events[w][i]
        if (w, i + 1) in execution.landed:
            b, generation = execution.landed[w, i + 1]
            return self.clock[execution.n + b] > generation
        group, channel = self.explorer.groups[w].get(i), execution.channel.get((w, event.engine))
        if channel is not None:
            return group is not None and self.clock[channel] > group
        return event.engine is Engine.TCGEN05 and any(
            j > i and execution.landed[w, j + 1][0] >= 0 and self.known(w, j)
            for j, e in enumerate(self.explorer.events[w])
            if e.kind is EventKind.COMMIT_ARRIVE and (w, j + 1) in execution.landed
        )


def run_of(program) -> Run:
    return Run(Document("replayed"), None, program, Logged(program).run(), ())


def replay(run: Run, *places) -> State | None:
    """The machine before the events (stream, place, clock), each of which has all before it in its stream; None where
    that meets undefined behaviour first."""
    whole = [max(values) for values in zip(*(clock for _, _, clock in places), strict=True)]
    before = join_clocks(run, *places)
    machine = Replay(run, whole)
    for w, start, end in run.execution.order:
        for _ in range(start, min(end, before[w])):
            if not machine.step(w, before):
                return None
    return machine.state


@pytest.mark.parametrize("make", [random_program, mutated_ring])
def test_races_can_be_reached(make):
    reached = 0
    for number in range(PROGRAMS):
        run = run_of(make(random.Random(f"race {number}")))
        if run.execution.stopped or any(i.kind == "early_close" for i in run.execution.incidents):
            continue
        for x, y in run.execution.races.found.values():
            state = replay(run, (x.stream, x.index, x.base), (y.stream, y.index, y.base))
            if state is None:
                continue
            active = {(r.stream, r.index - 1) for r in (x, y) if state.at[r.stream] == r.index - 1}
            active |= {(w, i) for w, i, _ in state.flying}
            assert {(x.stream, x.index - 1), (y.stream, y.index - 1)} <= active
            reached += 1
    assert reached > 50


@pytest.mark.parametrize("make", [random_program, mutated_ring])
def test_arrivals_land_in_an_earlier_phase(make):
    reached = 0
    for number in range(PROGRAMS):
        run = run_of(make(random.Random(f"arrival {number}")))
        incidents = run.execution.incidents
        first = incidents[0] if incidents else None
        if run.execution.stopped or first is None or first.kind != "misassigned" or first.other is None:
            continue
        if first.other[0] == first.stream:
            continue  # lanes of one warp
        state = replay(run, (first.stream, first.index, first.base))
        if state is None:
            continue
        assert state.barriers[first.barrier].completed < first.generation
        reached += 1
    assert reached > 20


@pytest.mark.parametrize("hazard", HAZARDS, ids=[h.code for h in HAZARDS])
def test_witnesses_are_short_and_can_be_followed(hazard):
    """Also the bad forms of tests/cases, by their kit."""
    report = verify(hazard.bad, strict_lanes=hazard.strict_lanes)
    followed = check_witnesses(hazard.bad, report)
    assert followed == sum(followable(hazard.bad, report, f) for f in report.errors)
    if hazard.code in ("WD204", "WD205", "WD206", "WD301", "WD302", "WD401", "WD403", "WD404", "WD505"):
        assert followed


@pytest.mark.parametrize("hazard", HAZARDS, ids=[h.code for h in HAZARDS])
def test_witnesses_name_ops_that_exist(hazard):
    from warpdraft.core.tree import walk

    ids = {n.id for t in hazard.bad.tasks for n in walk(t.body)}
    for finding in verify(hazard.bad).findings:
        assert {step.op for step in finding.witness} <= ids
        assert set(finding.ops) <= ids


def test_of_findings_that_are_one_row_one_witness_is_written(monkeypatch):
    written = []
    write = run_of_witness._prefix_steps
    monkeypatch.setattr(run_of_witness, "_prefix_steps", lambda *of: written.append(of) or write(*of))
    starved = next(h for h in HAZARDS if h.code == "WD302")
    report = verify(starved.bad)  # at every trip count from the stages on
    assert sum(len(values) for _, values in report.scope.trip_counts) > 2
    assert len(written) == sum(bool(f.witness) for f in report.findings) == 1
    assert all(f.write is None for f in report.findings)
