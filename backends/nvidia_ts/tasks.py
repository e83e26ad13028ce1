"""A task of Task Scheduling as captured nodes: head, loop and tail in the order in which its run time executes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from warpdraft.core.authoring.recording import CapturedGuard, CapturedLoop, CapturedNode, CapturedOp, Recorder
from warpdraft.core.document import GuardKind, OpKind, Token, Value

from .entries import HOOKS, Entries, Entry, parameters_of, returned_by
from .resources import Resources, plain_or_name
from .symbols import Symbols
from .tokens import Route, mailbox, shared_names
from .trace import ScheduleTrace
from .version import task_scheduling

KINDS = {
    "ProducerTryAcquire": OpKind.TRY_ACQUIRE,
    "ProducerAcquire": OpKind.ACQUIRE,
    "ProducerCommit": OpKind.COMMIT,
    "ConsumerTryWait": OpKind.TRY_WAIT,
    "ConsumerWait": OpKind.WAIT,
    "ConsumerRelease": OpKind.RELEASE,
} | dict.fromkeys(HOOKS, OpKind.WORK)
Part = Entry | None  # None: the domain loop


class TaskReader:
    """Reads one task. ``gaps`` collects what no document can hold."""

    def __init__(
        self,
        task: Any,
        trace: ScheduleTrace,
        resources: Resources,
        symbols: Symbols,
        before: TaskReader | None = None,
    ) -> None:
        """``before``: of the task that the same warps do before this one."""
        self.task, self.trace, self.resources, self.symbols = task, trace, resources, symbols
        self.entries = Entries(task, trace)
        self.name = str(task.name) or trace.name or f"task_w{int(task.warp_idx)}"
        self.recorder = Recorder(self.name) if before is None else before.recorder
        self.gaps: list[str] = []
        self.persistent = bool(task.is_persistent)
        self._routed: dict[tuple, dict[str, tuple]] = {}
        self._tokens: dict[tuple, str] = {}
        self._lines: dict[tuple, int] = {}
        self._roots = self._shared()

    def nodes(self) -> list[CapturedNode]:
        """The whole body, with what the run time adds at its end."""
        head, tail = self.entries.head, self.entries.tail
        outside = [e for e in (*head, *tail) if e.once and self.persistent]
        parts: list[Part] = [*(e for e in head if e not in outside), None]
        parts += [e for e in tail if e not in outside]
        body = self._ops(e for e in head if e in outside)
        if self.persistent:
            tiles = self._tile_loop()
            tiles.body += self._tile(parts, tiles.var)
            body.append(tiles)
        else:
            body += self._tile(parts, "")
        body += self._ops(e for e in tail if e in outside)
        return [*body, *self._producer_tails()]

    # -- blocks ---------------------------------------------------------------------------------------------------------
    def _tile_loop(self) -> CapturedLoop:
        task, queue = self.task, self.resources[self.task.work_queue]
        var = self.recorder.name_once(self.trace.tile or "tile")
        skip_if = self.symbols.predicate(task.skip_if, task.work_queue)
        bounds = (0, queue.tiles, 1)
        return CapturedLoop(
            self.recorder._next(), "tile", var, self.trace.tile_source, bounds, queue, skip_if
        )

    def _tile(self, parts: list[Part], tile: str) -> list[CapturedNode]:
        """What is done for one work tile. The parts that skipped tiles leave out are one block where they follow each other;
        the domain loop is one of them (Task._run_task_body_impl_schedule)."""
        skips = self.persistent and self.task.skip_if is not None
        found: list[CapturedNode] = []
        block: CapturedGuard | None = None
        for part in parts:
            if not (skips if part is None else part.skips):
                block = None
            elif block is None:
                block = CapturedGuard(self.recorder._next(), GuardKind.SKIPPABLE, None, loop=tile)
                found.append(block)
            into = found if block is None else block.body
            into += [self._domain_loop()] if part is None else self._ops([part])
        return found

    def _domain_loop(self) -> CapturedLoop:
        task = self.task
        start = self.symbols.bound(task.domain_start, self.name, "start")
        step = self.symbols.bound(task.step, self.name, "step")
        if type(task).get_domain is not task_scheduling().task.Task.get_domain:
            # the run time asks the method in any case
            stop = self.symbols.getter(type(task).get_domain, task, self.persistent)
        else:
            stop = self.symbols.bound(task.domain, self.name, "stop")
        var = self.recorder.name_once(self.trace.loop or "k")
        bounds = (start, stop, step)
        node = CapturedLoop(self.recorder._next(), "domain", var, self.trace.loop_source, bounds)
        node.unroll = task.unroll
        for guard, entries in self.entries.loop:
            if guard is None:
                node.body += self._ops(entries)
            else:
                block = self._guard(guard, var, entries)
                block.body += self._ops(entries)
                node.body.append(block)
        return node

    def _guard(self, guard: Any, loop: str, entries: list[Entry]) -> CapturedGuard:
        enums = task_scheduling().enums
        node = CapturedGuard(self.recorder._next(), GuardKind.FIRST_ITER, entries[0].source, loop=loop)
        if guard is enums.LoopGuard.FirstIter:
            return node
        if guard is enums.LoopGuard.LastIter:
            node.kind = GuardKind.LAST_ITER
        elif isinstance(guard, enums.Every):
            node.kind, node.period, node.start = GuardKind.EVERY, int(guard.period), int(guard.start)
        elif isinstance(guard, enums.OpaqueCondition):
            node.kind = GuardKind.WHEN_FALSE if guard.negated else GuardKind.WHEN_TRUE
            node.loop, node.key = "", self.symbols.condition(guard.key, condition_name(guard))
            node.token = self._tested(guard, entries[0])
        else:  # never executed by the run time, whatever its author meant
            self.gaps.append(f"{self.name}: the predicate {type(guard).__name__} is none that is known")
            node.kind, node.loop = GuardKind.WHEN_TRUE, ""
            node.key = self.symbols.condition(id(guard), type(guard).__name__)
        return node

    def _tested(self, guard: Any, first: Entry) -> str:
        """The value that a condition tests: what its work returned last, before the block in schedule order."""
        if guard.resource is None:
            return ""
        name = guard.result_name
        writers = [e for e in self.entries if e.resource is guard.resource and name in returned_by(e)]
        before = [e for e in writers if e.place.number < first.place.number] or writers
        return self._token(before[-1].slot, name) if before else ""

    # -- ops ------------------------------------------------------------------------------------------------------------
    def _ops(self, entries: Iterable[Entry]) -> list[CapturedNode]:
        """Their ops; what is asked of a pipeline that the resource has not does nothing."""
        return [self._op(e) for e in entries if e.resource.pipeline_config is not None or e.work]

    def _op(self, e: Entry) -> CapturedOp:
        target, kind, number = self.resources[e.resource], KINDS[e.stage], self.recorder._next()
        line = (e.source, kind, id(target), e.work)
        first = self._lines.setdefault(line, number) if e.source is not None else number
        node = CapturedOp(number, kind, target, e.source, None if first == number else first)
        if kind is OpKind.WORK:
            node.work = e.work
            node.args = tuple(self._arguments(e))
            node.results = tuple(self._token(e.slot, name) for name in returned_by(e))
        return node

    def _arguments(self, e: Entry) -> Iterator[tuple[str, Token | Value]]:
        """Routed values and compile-time arguments in the order of the method. What nothing is routed to is unknown."""
        given: dict[str, Token | Value] = {
            p: default for p, default in parameters_of(e) if default is not None
        }
        known = dict((self.task.constexpr_work_kwargs or {}).get(e.slot, {}))
        given |= {name: plain_or_name(value) for name, value in known.items()}
        given |= {p: Token(self._token(*written)) for p, written in self._routed.get(e.slot, {}).items()}
        order = [p for p, _ in parameters_of(e)]
        for name in [p for p in order if p in given] + [p for p in given if p not in order]:
            yield name, given[name]
        for name in order:
            if name not in given:
                self.gaps.append(f"{self.name}: nothing is routed to {name} of {e.resource.name}.{e.work}")

    # -- values ---------------------------------------------------------------------------------------------------------
    def _shared(self) -> dict[tuple, tuple]:
        """Which results have one name (`tokens.shared_names`), after noting who is given what."""
        routes = []
        for writer, found in (self.task.slot_routing or {}).items():
            for variables, destinations in found:
                for resource, stage, *section, call in destinations:
                    reader = (id(resource), stage, section[0] if section else writer[2], call)
                    if writer not in self.entries.by_slot or reader not in self.entries.by_slot:
                        self.gaps.append(
                            f"{self.name}: a route leads to or from a call that is not scheduled"
                        )
                        continue
                    for v in variables or returned_by(self.entries.by_slot[writer]):
                        variable, parameter = v if isinstance(v, tuple) else (v, v)
                        box = mailbox(resource, stage.name.startswith("Consumer"), parameter)
                        routes.append(Route(writer, variable, reader, box))
                        self._routed.setdefault(reader, {})[parameter] = (writer, variable)
        places = {e.slot: e.place for e in self.entries}
        return shared_names(routes, places)

    def _token(self, slot: tuple, variable: str) -> str:
        """The name of a value: of all that share it, the one that the first of them was given."""
        root = self._roots.get((slot, variable), (slot, variable))
        if root not in self._tokens:
            self._tokens[root] = self.recorder.name_once(root[1])
        return self._tokens[root]

    # -- what the run time adds -----------------------------------------------------------------------------------------
    def _producer_tails(self) -> Iterable[CapturedOp]:
        """The waits at the end of a task, until its stages are free again (Task._run_task_body_persistent and
        _non_persistent)."""
        queue = self.task.work_queue
        filled = [r for r in self.task.dst_resources if r.pipeline_config is not None]
        ordered = [r for r in filled if r is not queue and not _fork_secondary(r)]
        if self.persistent and any(r is queue for r in filled):
            ordered.append(queue)
        for resource in ordered:
            number, target = self.recorder._next(), self.resources[resource]
            yield CapturedOp(number, OpKind.PRODUCER_TAIL, target, None, None, implicit=True)


def condition_name(guard: Any) -> str:
    """What an opaque condition is called: by its key, or by the value that it tests where no key was given."""
    key = guard.key
    if isinstance(key, tuple) and len(key) == 2 and key[0] == "__opaque__":
        return "condition"
    if guard.resource is not None and key == (id(guard.resource), guard.method_label, guard.result_name):
        return f"{guard.resource.name}.{guard.method_label}.{guard.result_name}"
    return ".".join(map(str, key)) if isinstance(key, tuple | list) else str(key)


def _fork_secondary(resource: Any) -> bool:
    group = resource.pipeline_group
    return group is not None and group.mode.value == "Fork" and resource is not group.members[0]
