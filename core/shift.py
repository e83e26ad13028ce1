"""Whether two states, of one execution or of two, are the same but for a shift.

A shift is another stage for each stage of a pipeline (all moved on by as many as its cursors), and for each clock component
a strictly increasing map of its values. The map adds the component's growth between the two cuts to every value that is
made or asked for from now on; old values, below all of those, may have any counterparts in the same order (a warp that has
not heard of a ring since the last tile knows another phase of each of its stages). Then each step from the one state has its
counterpart from the other: joins and comparisons commute with increasing maps, and new values are made at the growing end.
`core.periodic` says what follows.
"""

from __future__ import annotations

from typing import Any

from .clocks import Execution
from .counterparts import KNOWN, Counterparts, Different
from .cuts import Uses
from .footprints import stage_bytes
from .frontier import Frontier
from .growth import Growth
from .interleave import stride_of
from .machine import Machine
from .peeks import peeked_alike
from .program import Event, EventKind

NUMBERED = (EventKind.WAIT, EventKind.TRY, EventKind.CLUSTER_ARRIVE, EventKind.CLUSTER_WAIT)


def same(
    machine: Machine,
    growth: Growth,
    uses: Uses,
    execution: Execution,
    one: Frontier,
    two: Frontier,
    other: Execution | None = None,
) -> bool:
    """Whether ``two`` is ``one`` but for a shift, and so whatever follows from it; ``other`` is the execution of ``two``."""
    other = other or execution
    if one.counts != two.counts or one.ranks != two.ranks:
        return False
    if machine.peeks and not peeked_alike(machine, execution.program, one, two, other.program):
        return False
    try:
        Comparison(machine, growth, uses, execution, one, two, other).run()
    except Different:
        return False
    return True


class Comparison:
    """Builds the shift from the cursors, then holds everything against it."""

    def __init__(
        self,
        machine: Machine,
        growth: Growth,
        uses: Uses,
        execution: Execution,
        one: Frontier,
        two: Frontier,
        other: Execution,
    ) -> None:
        self.machine, self.growth, self.of = machine, growth, uses
        self.e, self.other, self.one, self.two = execution, other, one, two
        self.streams, self.barriers = execution.program.streams, execution.program.barriers
        self.n = execution.n
        self.to = list(range(len(self.barriers)))  # barrier -> its counterpart
        self.moved: dict[tuple[str, int], int] = {}  # (pipeline, CTA) -> uses between the cuts
        self.shift = [0] * len(one.base[0])
        self.values = Counterparts(len(self.shift))
        self.value, self.ask = self.values.value, self.values.ask

    def run(self) -> None:
        one, two = self.one, self.two
        self.need(self.e is self.other or self.e.channel == self.other.channel)
        self.need(one.active == two.active and set(one.cut.marks) == set(two.cut.marks))
        self.find_shift()
        self.components = [self.component(c) for c in range(len(self.shift))]
        self.clocks()  # most states that differ do so here
        self.unroller()
        self.streams_and_barriers()
        self.memory()
        self.zones()

    @staticmethod
    def need(condition: Any) -> None:
        if not condition:
            raise Different

    # -- the shift ------------------------------------------------------------------------------------------------------
    def find_shift(self) -> None:
        one, two = self.one, self.two
        self.used = used = [keys if w in one.active else () for w, keys in enumerate(self.of.cursors)]
        for w, keys in enumerate(used):
            marks = one.cut.marks.get(w), two.cut.marks.get(w)
            for key in keys:
                step = marks[1].cursors.get(key, 0) - marks[0].cursors.get(key, 0) if marks[0] else 0
                self.need(self.moved.setdefault((key[0], self.streams[w].cta), step) == step)
        for w in range(self.n):
            self.shift[w] = two.at[w] - one.at[w]
        for together in self.machine.together:
            steps = {self.moved[place] for place in together if place in self.moved}
            self.need(len(steps) < 2)
            self.moved |= dict.fromkeys(together, *steps) if steps else {}
        for (name, cta), step in self.moved.items():
            stages = max(1, self.machine.resources[name].pipeline.stages)
            self.need(name not in self.growth.fixed or step % stages == 0)
            for side in ("full", "empty"):
                first = self.machine.barrier(name, side, 0, cta)
                for stage in range(stages):
                    self.to[first + stage] = first + (stage + step) % stages
                    self.shift[self.n + first + stage] = (stage + step) // stages
        for b, barrier in enumerate(self.barriers):
            grown = two.state[self.to[b]].completed - one.state[b].completed
            turning = barrier.side in ("full", "empty") and (barrier.resource, barrier.cta) in self.moved
            if turning and b not in self.machine.idle:
                self.need(grown == self.shift[self.n + b])
            self.shift[self.n + b] = grown
        for key, c in self.e.channel.items():
            grown = two.groups[key].committed - one.groups[key].committed
            self.shift[c] = self.shift[c + 1] = grown
        self.need(self.e is not self.other or min(self.shift, default=0) >= 0)

    def component(self, c: int) -> int:
        b = c - self.n
        return self.n + self.to[b] if 0 <= b < len(self.barriers) else c

    def clock(self, a, b, skip: int = -1) -> None:
        its = map(b.__getitem__, self.components)
        for c, (pairs, x, y) in enumerate(zip(self.values.pairs, a, its, strict=True)):
            if c != skip and pairs.setdefault(x, y) != y:
                raise Different

    def zones(self) -> None:
        """Counterparts are in the same order; those that do not move with their component lie below all that are still to be
        made or asked for."""
        channels = {c + half: key for key, c in self.e.channel.items() for half in (0, 1)}
        for c, shift in enumerate(self.shift):
            found = self.values.newest_old(c, shift)
            if found is None:
                continue
            old, its = found
            if c < self.n:
                self.need(old <= self.one.at[c] and its <= self.two.at[c])
            elif c - self.n < len(self.barriers):
                done, then = self.one.state[c - self.n], self.two.state[self.to[c - self.n]]
                self.need(old <= done.completed - 2 and its <= then.completed - 2)
            else:
                key = channels[c]
                most = self.of.newest.get(key, 0)
                self.need(old < self.one.groups[key].committed - most)
                self.need(its < self.two.groups[key].committed - most)

    # -- what decides the events to come --------------------------------------------------------------------------------
    def unroller(self) -> None:
        for w in self.one.active:
            marks = self.one.cut.marks.get(w), self.two.cut.marks.get(w)
            if marks[0] is not None:
                self.views(self.streams[w].cta, marks[0].views, marks[1].views)
                self.generations(w, marks[0].cursors)
        for w, b in self.of.turns:
            if w not in self.one.active:
                continue
            marks = self.one.cut.marks.get(w), self.two.cut.marks.get(w)
            turn = marks[0].turns.get(b, 0) if marks[0] else 0
            step = marks[1].turns.get(b, 0) - turn if marks[0] else 0
            self.need(step == self.shift[self.n + b])
            self.value(self.n + b, turn, turn + step)
            self.ask(self.n + b, turn)
        for w, b in self.of.parities:
            self.need(w not in self.one.active or self.shift[self.n + b] % 2 == 0)

    def views(self, cta: int, one: dict[str, tuple], two: dict[str, tuple]) -> None:
        self.need(one.keys() == two.keys())
        for token, (resource, stage, ranges) in one.items():
            self.need(two[token] == (resource, self.stage(resource, stage, cta), ranges))

    def stage(self, resource: str, stage: int, cta: int) -> int:
        """The counterpart of a stage of CTA ``cta``."""
        pipeline = self.machine.resources[resource].pipeline
        return (stage + self.moved.get((resource, cta), 0)) % max(1, pipeline.stages) if pipeline else stage

    def generations(self, w: int, cursors: dict[tuple[str, str], int]) -> None:
        """The least generations that this stream may still ask for must be among the values that move."""
        idle = self.machine.idle
        for name, cursor in self.used[w]:
            stages = max(1, self.machine.resources[name].pipeline.stages)
            uses = cursors.get((name, cursor), 0)
            side, less = ("empty", 1) if cursor in ("acquire", "commit") else ("full", 0)
            first = self.machine.barrier(name, side, 0, self.streams[w].cta)
            for use in range(uses, uses + stages, stride_of(self.machine.resources[name], cursor)):
                b = first + use % stages
                if b in idle:
                    continue
                c = self.n + b
                generation = use // stages - less
                self.value(c, generation, generation + self.shift[c])
                self.ask(c, generation)

    def events(self, a: Event, b: Event) -> None:
        """Of a stream that is blocked before its mark: an event up to there."""
        self.need((a.kind, a.op, a.engine, a.bytes) == (b.kind, b.op, b.engine, b.bytes))
        self.need((self.to[a.barrier] if a.barrier >= 0 else -1) == b.barrier)
        self.need(tuple(self.to[o] for o in a.also) == b.also)
        if a.kind in NUMBERED and a.number is not None:
            self.need(b.number == a.number + self.shift[self.n + a.barrier])
            self.value(self.n + a.barrier, a.number, b.number)
            self.ask(self.n + a.barrier, a.number)
        else:
            self.need(a.number == b.number and a.parity == b.parity)
            self.need(a.parity is None or self.shift[self.n + a.barrier] % 2 == 0)
        self.need(len(a.accesses) == len(b.accesses))
        for x, y in zip(a.accesses, b.accesses, strict=True):
            stage = self.stage(x.resource, x.stage, x.cta)
            move = (stage - x.stage) * stage_bytes(self.machine.resources[x.resource])
            self.need(y == x._replace(low=x.low + move, high=x.high + move, stage=stage))

    def clocks(self) -> None:
        for w, base in enumerate(self.one.base):
            self.clock(base, self.two.base[w], skip=w)

    # -- warps, barriers, groups ------------------------------------------------------------------------------------------
    def streams_and_barriers(self) -> None:
        one, two = self.one, self.two
        for w, stream in enumerate(self.streams):
            if w in one.cut.marks:
                first, second = one.cut.marks[w].position, two.cut.marks[w].position
                left = first - one.at[w]
                self.need(left >= 0 and left == second - two.at[w])
                for i in range(left):
                    events = self.other.program.streams[w].events
                    self.events(stream.events[one.at[w] + i], events[two.at[w] + i])
            else:
                self.need(one.at[w] == two.at[w])
        self.heard()
        self.need(one.touched == two.touched and one.fences.keys() == two.fences.keys())
        self.need(one.relinquished == two.relinquished and one.copying == two.copying)
        for (of, w), (index, base) in one.fences.items():
            self.value(w, index, two.fences[of, w][0])
            self.clock(base, two.fences[of, w][1], skip=w)
        self.need(one.allocations.keys() == two.allocations.keys())
        for w, x in one.allocations.items():
            self.kept(x, two.allocations[w])
        self.need(one.inside.keys() == two.inside.keys())
        for w, generation in one.inside.items():
            b = self.streams[w].events[one.at[w]].barrier
            self.value(self.n + b, generation, two.inside[w])
        for key, groups in one.groups.items():
            self.need(groups.open == two.groups[key].open)
        for b in range(len(self.barriers)):
            self.barrier(b, self.to[b])
        self.histories()

    def heard(self) -> None:
        self.need(self.one.heard == self.two.heard)

    def barrier(self, b: int, to: int) -> None:
        one, two = self.one, self.two
        state, its = one.state[b], two.state[to]
        self.need(state == its or state._replace(completed=its.completed) == its)
        self.need((state.completed == 0) == (its.completed == 0))  # rules ask whether it was ever used
        self.need(one.parked[b] == two.parked[to])
        self.cumulative(b, to)
        self.contributions(b, to)
        self.need(len(one.log[b]) == len(two.log[to]))
        for x, y in zip(one.log[b], two.log[to], strict=True):
            self.need((x.stream, x.kind, x.bytes) == (y.stream, y.kind, y.bytes))
            self.value(x.stream, x.index, y.index)
            self.clock(x.base, y.base)
        self.need(one.waits[b].keys() == two.waits[to].keys())
        for w, (first, last, again) in one.waits[b].items():
            self.need(again == two.waits[to][w][2])
            self.value(w, first, two.waits[to][w][0])
            self.value(w, last, two.waits[to][w][1])
        self.need((b in one.landing) == (to in two.landing))
        if b in one.landing:
            (w, j, g), (u, k, h) = one.landing[b], two.landing[to]
            if w == u:  # whose copy came last may take turns, where several fill one stage
                self.value(w, j, k)
            self.value(self.n + b, g, h)

    def cumulative(self, b: int, to: int) -> None:
        self.clock(self.one.cumul[b], self.two.cumul[to])

    def contributions(self, b: int, to: int) -> None:
        one, two = self.one, self.two
        for of, its in ((one.last[b], two.last[to]), (one.before[b], two.before[to])):
            self.need(of.keys() == its.keys())
            for u, k in of.items():
                self.value(u if u >= 0 else (-u - 1) % self.n, k, its[u])

    def histories(self) -> None:
        """What each stream last passed or waited for, and the turns of its waits that name a parity."""
        one, two = self.one, self.two
        self.need(len(one.passed) == len(two.passed))
        for (w, b), done in one.passed.items():
            if w in one.active:
                self.need(two.passed.get((w, self.to[b])) == done + self.shift[self.n + b])
        self.need(one.waited.keys() == two.waited.keys())
        for w, g in one.waited.items():
            self.need(two.waited[w] == g + self.shift[self.n + self.machine.cluster])
        self.need(one.parities.keys() == two.parities.keys())
        for (w, b), (count, turns) in one.parities.items():
            more, turns_then = two.parities[w, b]
            lead, grown = count - one.state[b].completed, more - count - self.shift[self.n + b]
            steady = grown == 0 and turns == turns_then
            self.need(steady or (lead > 1 and grown >= 0) or (lead < 0 and grown <= 0))

    # -- memory -----------------------------------------------------------------------------------------------------------
    def memory(self) -> None:
        one, two = self.one, self.two
        to = self.segments()
        images = {j for j in to if j >= 0}
        self.need(all(j in images or self.untouched(two, j) for j in range(len(two.written))))
        for i in range(len(to)):
            if to[i] < 0:
                self.need(self.untouched(one, i))
                continue
            j = to[i]
            self.need(one.written[i] == two.written[j])
            if one.holds:
                self.need(one.holds[i][0] == two.holds[j][0])
                self.kept(one.holds[i][1], two.holds[j][1])
            self.use(i, j)
            self.kept(one.writes[i], two.writes[j])
            self.reads(one.reads[i], two.reads[j])

    def reads(self, one: dict[tuple[int, int], tuple], two: dict[tuple[int, int], tuple]) -> None:
        self.need(len(one) == len(two))
        for (w, c), x in one.items():
            self.kept(x, two.get((w, self.component(c) if c >= 0 else c)))

    @staticmethod
    def untouched(frontier: Frontier, i: int) -> bool:
        return not frontier.written[i] and frontier.writes[i] is None and not frontier.reads[i]

    def use(self, i: int, j: int) -> None:
        a, b = self.one.use[i], self.two.use[j]
        self.need((a is None) == (b is None))
        if a is not None and b is not None:
            writer = self.one.used_as[i]
            self.need(b == a + self.use_shift(*writer))
            self.need(i not in self.mixed or writer == self.two.used_as[j])

    def kept(self, x: tuple | None, y: tuple | None) -> None:
        self.need((x is None) == (y is None))
        if x is not None:
            self.record(x, y)

    def record(self, x: tuple, y: tuple) -> None:
        self.need(x[0] == y[0] and x[6] == y[6])
        self.value(x[0], x[1], y[1])
        component = x[2]
        self.need((self.component(component) if component >= 0 else component) == y[2])
        if component >= 0:
            self.value(component, x[3], y[3])
        self.need((x[4] in (None, KNOWN)) == (y[4] in (None, KNOWN)))
        if x[4] in (None, KNOWN):
            self.need(x[4] == y[4])
        else:
            self.value(x[0], x[4], y[4])
        commits = dict(y[5])
        self.need(len(x[5]) == len(commits))
        for b, g in x[5]:
            self.need(self.to[b] in commits)
            self.value(self.n + b, g, commits[self.to[b]])

    def segments(self) -> list[int]:
        """The counterpart of each byte segment (-1: it has none), and those that lie under uses that move apart."""
        bounds, number = self.e.races.bounds, self.other.races.places
        to, self.mixed = [], set()
        for i, own in enumerate(self.e.races.owners):
            turning = [o for o in own if self.stage(*o[:3]) != o[1]]
            uses = {self.use_shift(*o[:3]) for o in own if (o[0], "full") in self.machine.first}
            found = next((number.get((space, *bounds[i]), -1) for *_, space in own), -1)
            if turning:
                resource, stage, cta, space = turning[0] if len(own) == 1 else ("", 0, 0, "")
                found = -1
                if resource:
                    move = (self.stage(resource, stage, cta) - stage) * stage_bytes(
                        self.machine.resources[resource]
                    )
                    low, high = bounds[i]
                    found = number.get((space, low + move, high + move), -1)
            if len(uses) > 1:
                self.mixed.add(i)
                found = found if self.apart(i) else -1
            to.append(found)
        return to

    def apart(self, segment: int) -> bool:
        """Whether the uses of the resources that lie over a segment may move by different amounts."""
        return False

    def use_shift(self, resource: str, stage: int, cta: int) -> int:
        moved = self.moved.get((resource, cta))
        if moved is None:
            return self.shift[self.n + self.machine.barrier(resource, "full", stage, cta)]
        return (stage + moved) // max(1, self.machine.resources[resource].pipeline.stages)
