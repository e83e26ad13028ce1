"""What one warp does in its own order: brackets of pipelines, peeks, views and tokens, step by step.

Follows the unroller, so that loops, guards and cursors mean here what they mean in an execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..conditions import condition_words
from ..descriptors import described
from ..document import (
    Document,
    Engine,
    Guard,
    GuardKind,
    Loop,
    Node,
    Op,
    OpKind,
    Resource,
    Space,
    Task,
    Token,
    Work,
)
from ..footprints import engine_of
from ..limits import TimeUp, in_time
from ..machine import Machine
from ..pipeline_steps import PipelineStep
from ..program import Event, Stream
from ..routes import TMA
from ..tensor_memory import issued_as
from ..tree import ops_of, walk
from ..unroll import WarpWalk, streams_of
from ..valuations import Patterns, Values, running, simple_patterns, symbol_ranges
from .lanes import SHARED, Lanes

MAX_TRIPS = 12  # of one loop; loops inside two others are cut shorter
OPENS = {OpKind.ACQUIRE: "producer", OpKind.WAIT: "consumer"}
CLOSES = {OpKind.COMMIT: "producer", OpKind.RELEASE: "consumer"}
PEEKS = {OpKind.TRY_ACQUIRE: "producer", OpKind.TRY_WAIT: "consumer"}
OPENING = {"producer": "acquire", "consumer": "wait"}


class Problem(NamedTuple):
    """A step out of order: ``kind`` says which, ``text`` what; ``at`` is the iteration in words."""

    kind: str
    task: str
    op: str
    resource: str
    text: str
    at: str
    other: str = ""


class Facts(NamedTuple):
    """Of an op: its resource and work, the ``tokens`` that it takes by parameter, whether it is about a pipeline with
    brackets, is done by an engine, loads from tensor memory, and may write memory that lanes share."""

    resource: Resource | None
    work: Work | None
    tokens: tuple[tuple[str, str], ...]
    bracketed: bool
    asynchronous: bool
    loads: bool
    stores: bool


def _facts(machine: Machine, task: Task, op: Op) -> Facts:
    resource, work = machine.resources.get(op.target), machine.works.get((op.target, op.work))
    known, started = resource is not None and work is not None, op.kind is OpKind.WORK
    return Facts(
        resource,
        work,
        tuple((p, v.name) for p, v in op.args if isinstance(v, Token)),
        resource is not None and resource.pipeline is not None and resource.space is not Space.QUEUE,
        known and engine_of(resource, work) is not Engine.WARP,
        known and started and issued_as(resource, work, task) is Engine.TCGEN05_LD,
        known and work.role == "producer" and resource.space in SHARED,
    )


class Trace:
    """The problems of every warp of a document, each op once, and whether a wait can be skipped by an old peek.
    ``finished`` is whether all warps were followed before the deadline."""

    def __init__(self, machine: Machine, deadline: float | None = None, strict_lanes: bool = False) -> None:
        self.document, self.deadline, self.strict_lanes = machine.document, deadline, strict_lanes
        self.problems: dict[tuple[str, str], Problem] = {}
        self.finished = True
        self.brackets: dict[str, set[tuple[str, str]]] = {}  # task -> (resource, side) that it opens
        self.elsewhere: set[tuple[str, str]] = set()
        # by task, what is the same wherever one of its warps comes to an op
        self.facts: dict[str, dict[int, Facts]] = {}
        try:
            self._follow(machine)
        except TimeUp:
            self.finished = False

    def _follow(self, machine: Machine) -> None:
        for task in machine.document.tasks:
            opens = {(o.target, OPENS[o.kind]) for o in ops_of(task) if o.kind in OPENS}
            self.brackets[task.name] = self.brackets.get(task.name, set()) | opens
            self.elsewhere |= opens
        ranked = {t.name for t in machine.document.tasks if _ranked(t)}
        for values, conditions in _choices(self.document):
            for task, stream in streams_of(machine):
                if stream.weight > 1 or (stream.cta and task.name not in ranked):
                    continue  # its warps do what another one does
                _Follower(machine, task, stream, values, conditions, self).block(task.body)

    def of(self, kind: str) -> list[Problem]:
        """The problems of one kind."""
        return [p for p in self.problems.values() if p.kind == kind]


def _ranked(task: Task) -> bool:
    """Whether ``task`` goes other ways in other CTAs of the cluster."""
    return any(isinstance(n, Guard) and n.kind is GuardKind.CTA_RANK for n in walk(task.body))


def _choices(document: Document) -> Iterator[tuple[Values, Patterns]]:
    """Trip counts at their least and a few more, all together and each alone; then both under each condition's outcomes."""
    ranges = symbol_ranges(document)
    more, least = running(document, ranges), {name: values[0] for name, values in ranges.items()}
    usual, *others = simple_patterns(document)
    chosen = [least, more]
    chosen += [base | {name: other[name]} for name in more for base, other in ((more, least), (least, more))]
    found: list[Values] = []
    for values in chosen:
        if values not in found:
            found.append(values)
            yield values, usual
    for conditions in others:
        for values in found[:2]:
            yield values, conditions


class _Follower(WarpWalk):
    """One warp's walk, with what is open at each step."""

    def __init__(
        self,
        machine: Machine,
        task: Task,
        stream: Stream,
        values: Values,
        conditions: Patterns,
        trace: Trace,
    ) -> None:
        super().__init__(machine, task, stream, values, conditions)
        self.trace = trace
        self.facts = trace.facts.setdefault(task.name, {})
        self.brackets = trace.brackets[task.name]
        self.elsewhere = trace.elsewhere
        self.open: dict[tuple[str, str], int] = {}  # (resource, side) -> brackets
        self.closed: dict[str, int] = {}  # resource -> releases so far
        self.begun: dict[str, int] = {}  # resource -> waits so far
        self.peeked: dict[tuple[str, str], int] = {}  # the use that the last peek looked at
        self.tokens: dict[str, tuple[str, int]] = {}  # token -> pipelined resource and use that it comes from
        self.served: set[str] = set()  # pipelines from whose stages in hand something was made,
        self.unread: set[str] = set()  # and those that were given back before anything was
        self.upstreams: dict[str, set[str]] = {}
        for edge in machine.document.graph:
            if (edge.upstream, "consumer") in self.brackets and edge.upstream != edge.downstream:
                self.upstreams.setdefault(edge.downstream, set()).add(edge.upstream)
        self.known: set[str] = set()
        self.loading: dict[str, str] = {}  # token of a tcgen05.ld that was not waited for -> its op
        self.lanes = Lanes(trace.strict_lanes)

    # -- loops ----------------------------------------------------------------------------------------------------------
    def iterations(self, trips: int) -> Iterable[int]:
        """A long loop is walked at its two ends: brackets do not depend on how often it runs."""
        most = MAX_TRIPS if len(self.loops) < 2 else 3
        walked = range(trips) if trips <= most else (*range(most - 2), trips - 2, trips - 1)
        return in_time(walked, self.trace.deadline)

    def parts(self, node: Loop | Guard) -> Sequence[Node]:
        """Op by op."""
        return node.body

    # -- events, which nobody looks at here -------------------------------------------------------------------------------
    def emit(self, *event: Any, **more: Any) -> None:
        pass

    def repeat(self, events: Iterable[Event]) -> None:
        pass

    def signal(self, op: Op, step: PipelineStep) -> None:
        pass

    # -- what the unroller calls ----------------------------------------------------------------------------------------
    def passes(self, guard: Guard) -> bool:
        if guard.token and guard.token not in self.known and not self.idle:
            self.problem(
                "routing", guard, "", f"the condition tests {guard.token}, which nothing has returned yet"
            )
        return super().passes(guard)

    def op(self, op: Op) -> None:
        facts, works = self.facts.get(id(op)), op.kind is OpKind.WORK
        if facts is None:
            facts = self.facts[id(op)] = _facts(self.machine, self.task, op)
        if self.idle:  # brackets are the task's, like its cursors
            if facts.bracketed and not works:
                self.bracket(op)
            return super().op(op)
        if facts.tokens:
            self.check_tokens(op, facts)
        if facts.bracketed:
            self.bracket(op)
        if works and facts.work is not None and (facts.tokens or self.upstreams):
            self.check_upstreams(op, facts)
        if facts.stores or self.lane or self.lanes.open:
            for other, text in self.lanes.step(self, op):
                self.problem("lanes", op, op.target, text, other)
        self.known.update(op.results)
        if facts.loads or self.loading:
            self.note_loads(op, facts)
        return super().op(op)

    # -- brackets -------------------------------------------------------------------------------------------------------
    def bracket(self, op: Op) -> None:
        split = self.machine.resources[op.target].pipeline
        if op.kind in OPENS:
            side = OPENS[op.kind]
            key = op.target, side
            many = split.advance_on_acquire if side == "producer" else split.advance_on_wait
            self.peek_used(op, key)
            arms = op.kind is OpKind.ACQUIRE and self.machine.producer.get(op.target) == TMA
            if arms and not many and self.open.get(key):
                self.problem(
                    "bracket", op, op.target, "acquire again before commit: it arms the same stage twice"
                )
            if many or not self.open.get(key):
                self.open[key] = self.open.get(key, 0) + 1
                self.begun[op.target] = self.begun.get(op.target, 0) + (side == "consumer")
        elif op.kind in CLOSES:
            key = op.target, CLOSES[op.kind]
            if not self.held(op, key):
                self.problem("bracket", op, op.target, f"{op.kind.value} without {OPENING[key[1]]} before it")
            self.open[key] = max(0, self.open.get(key, 0) - 1)
            self.closed[op.target] = self.closed.get(op.target, 0) + (key[1] == "consumer")
            if key[1] == "consumer" and op.target not in self.served:
                self.unread.add(op.target)
            if not self.open[key]:
                self.served.discard(op.target)
        elif op.kind in PEEKS:
            key = op.target, PEEKS[op.kind]
            self.peeked[key] = self.use(key)
        elif op.kind is OpKind.WORK:
            self.work_inside(op)

    def held(self, op: Op, key: tuple[str, str]) -> bool:
        """Whether a bracket is open; another task may hold it for this one."""
        return bool(self.open.get(key)) or (key not in self.brackets and key in self.elsewhere)

    def use(self, key: tuple[str, str]) -> int:
        """Which use of the pipeline an acquire or wait here is for."""
        name, side = key
        return self.cursor.get((name, self.opening(self.machine.resources[name], OPENING[side])), 0)

    def peek_used(self, op: Op, key: tuple[str, str]) -> None:
        looked, use, kind = self.peeked.get(key), self.use(key), op.kind.value
        if looked is not None and looked != use:
            at, then = self.words(op, use), self.words(op, looked)
            self.problem("stale", op, op.target, f"{kind} for {at} after a try_{kind} that looked at {then}")

    def words(self, op: Op, use: int) -> str:
        stages = max(1, self.machine.resources[op.target].pipeline.stages)
        return f"use {use} (stage {use % stages})"

    def work_inside(self, op: Op) -> None:
        work = self.machine.works.get((op.target, op.work))
        if work is None or work.auxiliary or work.role not in OPENING:
            return
        key = op.target, work.role
        if not self.held(op, key):
            text = f"{op.work} outside {OPENING[work.role]} and {'commit' if work.role == 'producer' else 'release'}"
            self.problem("bracket", op, op.target, text)
        if work.role == "consumer":
            for token in op.results:
                self.tokens[token] = (
                    op.target,
                    self.closed.get(op.target, 0) + max(0, self.open.get(key, 1) - 1),
                )

    # -- upstreams ------------------------------------------------------------------------------------------------------
    def check_upstreams(self, op: Op, facts: Facts) -> None:
        self.check_implied(op)
        for _, token in facts.tokens:
            source = self.tokens.get(token)
            if source is None or (source[0], "consumer") not in self.brackets:
                continue
            upstream, use = source
            seen = (token, described(token)) if facts.asynchronous else (token,)
            stands = any(name in self.works.views for name in seen)  # else its value was read at its call
            if use < self.closed.get(upstream, 0) and stands:
                text = f"{op.target}.{op.work} uses {token} of {upstream} after its stage was released"
                self.problem("upstream" if facts.asynchronous else "bracket", op, upstream, text)

    def check_implied(self, op: Op) -> None:
        """What is made of a stage without a view of it is made while it is held, not after it was given back unused."""
        for upstream in self.upstreams.get(op.target, ()):
            if self.open.get((upstream, "consumer")):
                self.served.add(upstream)
                self.unread.discard(upstream)
            elif upstream in self.unread and upstream in self.machine.implied(self.task).get(op.id, ()):
                text = f"{op.target}.{op.work} reads {upstream}, which {op.target} is made from, after its release"
                self.problem("upstream", op, upstream, text)

    # -- loads from tensor memory ---------------------------------------------------------------------------------------
    def note_loads(self, op: Op, facts: Facts) -> None:
        """What a tcgen05.ld returns is there after the warp's next tcgen05.wait::ld."""
        if op.kind is OpKind.TCGEN05_WAIT_LD:
            self.loading.clear()
        if self.loading:
            for token in op.results:
                self.loading.pop(token, None)
        if facts.loads:
            self.loading |= dict.fromkeys(op.results, op.id)

    # -- tokens ---------------------------------------------------------------------------------------------------------
    def check_tokens(self, op: Op, facts: Facts) -> None:
        for parameter, token in facts.tokens:
            if token in self.loading:
                load = self.loading[token]
                text = f"{op.target}.{op.work} uses {token}, which {load} loads, before tcgen05.wait::ld"
                self.problem("unloaded", op, op.target, text, load)
            if token not in self.known and all(token != loop.var for loop, _, _ in self.loops):
                text = f"{parameter} of {op.target}.{op.work} takes {token}, which nothing has returned yet"
                self.problem("routing", op, op.target, text)

    def problem(self, kind: str, node: Node, resource: str, text: str, other: str = "") -> None:
        if self.idle:
            return  # the warp that does the step has it
        odd = {key: p for key, p in self.conditions.items() if tuple(p) != (self.machine.usual[key],)}
        at = ", ".join([*(f"{var} {i}" for var, i in self.at), *([condition_words(odd)] if odd else [])])
        self.trace.problems.setdefault(
            (kind, node.id), Problem(kind, self.task.name, node.id, resource, text, at, other)
        )
