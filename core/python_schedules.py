"""A task's schedule as a function of the authoring interface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .authoring.calls import RESERVED
from .authoring.queues import WorkQueue
from .authoring.recording import Recorder
from .authoring.resources import is_work_name
from .document import Document, Engine, Guard, GuardKind, Loop, Node, Op, OpKind, Task, Token, Value
from .event_kinds import REGISTER_KINDS
from .expressions import Integer, variables_of
from .footprints import engine_of
from .op_integers import expressions_of
from .python_resources import ResourceWriter, ready_made
from .python_text import Expressions, Imports, Lines, Names, call, keywords, literal
from .tree import find_resource, find_work

FREE_CALLS = {
    OpKind.FENCE_MBARRIER_INIT: "fence_mbarrier_init",
    OpKind.FENCE_PROXY_ASYNC: "fence_proxy_async",
    OpKind.SYNC_WARP: "sync_warp",
    OpKind.WGMMA_FENCE: "wgmma_fence",
    OpKind.TCGEN05_WAIT_LD: "tcgen05_wait_ld",
    OpKind.TCGEN05_WAIT_ST: "tcgen05_wait_st",
    OpKind.TCGEN05_FENCE_BEFORE: "tcgen05_fence_before",
    OpKind.TCGEN05_FENCE_AFTER: "tcgen05_fence_after",
    OpKind.CLUSTER_SYNC: "cluster_sync",
    OpKind.CLUSTER_ARRIVE: "cluster_arrive",
    OpKind.CLUSTER_WAIT: "cluster_wait",
}
ON_RESOURCES = (
    OpKind.TMEM_ALLOC,
    OpKind.TMEM_DEALLOC,
    OpKind.TMEM_RELINQUISH,
    OpKind.TENSORMAP_UPDATE,
    OpKind.FENCE_TENSORMAP,
)
METHODS = {  # of barriers and groups, with the name of the argument that Op.count is
    OpKind.GROUP_COMMIT: ("commit", None),
    OpKind.GROUP_WAIT: ("wait", ""),
    OpKind.GROUP_WAIT_READ: ("wait_read", ""),
    OpKind.BARRIER_SYNC: ("sync", None),
    OpKind.BARRIER_ARRIVE: ("arrive", None),
    OpKind.MBARRIER_INIT: ("init", None),
    OpKind.MBARRIER_INVAL: ("inval", None),
    OpKind.MBARRIER_ARRIVE: ("arrive", "count"),
    OpKind.MBARRIER_EXPECT: ("expect_tx", ""),
    OpKind.MBARRIER_ARRIVE_EXPECT: ("arrive_expect_tx", ""),
    OpKind.CP_ASYNC_ARRIVE: ("cp_async_arrive", None),
    OpKind.CP_ASYNC_ARRIVE_NOINC: ("cp_async_arrive", None),
    OpKind.MBARRIER_WAIT: ("wait", "parity"),
    OpKind.MBARRIER_TRY_WAIT: ("try_wait", "parity"),
}
UNNAMED = {"domain": "k", "tile": "tile"}  # what capture calls a loop without ``as``


class ScheduleWriter:
    """Writes the body of one schedule function.

    It names values as capture will: `Recorder.name_once` is asked for the same names in the same order, and where capture
    would choose another name than the document's, the name is written out.
    """

    def __init__(
        self,
        document: Document,
        task: Task,
        imports: Imports,
        expressions: Expressions,
        resources: ResourceWriter,
        objects: dict[str, str],
        outer: Names,
    ) -> None:
        self.document = document
        self.task = task
        self.imports = imports
        self.expressions = expressions
        self.resources = resources
        self.objects = objects  # name in the document -> variable
        self.names = Names(outer)
        self.tiles = resources.tiles
        self.recorder = Recorder("")
        self.mentioned = set(mentioned(task.body))
        self.variables: dict[str, str] = {}  # value returned so far -> variable
        self.handles: dict[str, str] = {}  # loop opened so far -> variable
        self.lines = Lines()

    def write(self, nodes: Sequence[Node]) -> None:
        """Append the statements of ``nodes``."""
        for node in nodes:
            if isinstance(node, Op):
                self.op(node)
            elif isinstance(node, Loop):
                self.loop(node)
            else:
                with self.lines.block(f"with {self.guard(node)}:"):
                    self.write(node.body)

    # -- blocks ---------------------------------------------------------------------------------------------------------
    def loop(self, loop: Loop) -> None:
        """A loop with its body."""
        unseen = loop.var not in self.mentioned
        variable = UNNAMED[loop.kind] if unseen else self.names.new(loop.var)
        options = [] if self.recorder.name_once(variable) == loop.var else [f"name={literal(loop.var)}"]
        if loop.kind == "tile":
            head, arguments = self.imports("work_tile_loop"), self.tile_arguments(loop)
        else:
            bounds = [loop.start, loop.stop, loop.step]
            arguments = [self.expressions(b) for b in (bounds if loop.step != 1 else bounds[:2])]
            if loop.unroll is not None:
                options.append(f"unroll={loop.unroll}")
            head = self.imports("domain_loop")
        if not unseen:
            self.handles[loop.var] = variable
        tail = ":" if unseen else f" as {variable}:"
        with self.lines.block(call(f"with {head}", [*arguments, *options], tail, self.lines.room)):
            self.write(loop.body)

    def tile_arguments(self, loop: Loop) -> list[str]:
        """What `work_tile_loop` is called with."""
        if not loop.queue or (loop.start, loop.step, loop.unroll) != (0, 1, None):
            raise ValueError(
                f"{loop.id}: a tile loop without a queue, or with a start, step or unroll, cannot be written"
            )
        arguments = [self.objects[loop.queue]]
        if loop.skip_if:
            arguments.append(f"skip_if={literal(loop.skip_if)}")
        queue = find_resource(self.document, loop.queue)
        if queue is None or ready_made(queue) is not WorkQueue or self.tiles.get(loop.queue) != loop.stop:
            arguments.append(f"tiles={self.expressions(loop.stop)}")
        return arguments

    def guard(self, guard: Guard) -> str:
        """The call that opens ``guard``'s block."""
        kind = guard.kind
        if kind is GuardKind.ELECT_WARP:
            return f"{self.imports('elect_warp')}({guard.warp})"
        if kind is GuardKind.CTA_RANK:
            return f"{self.imports('cta_rank')}({guard.cta})"
        if kind is GuardKind.ELECT_LANE:
            return f"{self.imports('elect_lane')}()"
        if kind in (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE):
            tested = self.value(Token(guard.token)) if guard.token else literal(guard.key)
            key = f", key={literal(guard.key)}" if guard.token or not guard.key else ""
            return f"{self.imports(kind.value)}({tested}{key})"
        handle = self.handles.get(guard.loop) or f"{self.imports('named_loop')}({literal(guard.loop)})"
        if kind is GuardKind.EVERY:
            start = f", start={guard.start}" if guard.start else ""
            return f"{handle}.every({guard.period}{start})"
        return f"{handle}.{kind.value}()"

    # -- ops ------------------------------------------------------------------------------------------------------------
    def op(self, op: Op) -> None:
        """One statement."""
        if op.kind is OpKind.TCGEN05_COMMIT:
            given = [self.objects[op.target]]
            given += [] if op.stage is None else [f"stage={self.integer(op.stage)}"]
            given += [f"cta={literal(op.ctas)}"] if op.ctas else []
            self.lines.add(f"{self.imports('tcgen05_commit')}({', '.join(given)})")
        elif op.kind in ON_RESOURCES:
            self.on_resource(op)
        elif op.kind in REGISTER_KINDS:
            self.lines.add(f"{self.imports(op.kind.value)}({self.integer(op.count)})")
        elif op.kind in FREE_CALLS:
            self.lines.add(f"{self.imports(FREE_CALLS[op.kind])}()")
        elif op.kind in METHODS:
            method, argument = METHODS[op.kind]
            arguments = []
            if argument is not None:
                count = self.integer(op.count)
                arguments.append(f"{argument}={count}" if argument else count)
            if op.kind is OpKind.CP_ASYNC_ARRIVE_NOINC:
                arguments.append("noinc=True")
            if op.stage is not None:
                arguments.append(f"stage={self.integer(op.stage)}")
            if op.ctas:
                arguments.append(f"cta={literal(op.ctas)}")
            variables, named = self.results(op, ())
            if named and op.kind is not OpKind.MBARRIER_TRY_WAIT:
                raise ValueError(
                    f"{op.id}: {method}() returns nothing, so {', '.join(op.results)} cannot be written"
                )
            if named:
                arguments.append(f"results={literal(op.results)}")
            assigned = f"{', '.join(variables)} = " if variables else ""
            self.lines.add_call(f"{assigned}{self.objects[op.target]}.{method}", arguments)
        else:
            self.resource_op(op)

    def on_resource(self, op: Op) -> None:
        """A free call that may name a resource."""
        given = [self.objects[op.target]] if op.target else []
        given += [] if op.count is None else [f"columns={op.count}"]
        given += [f"{key}={literal(value)}" for key, value in op.args]
        if any(key != "cta_group" for key, _ in op.args):
            raise ValueError(
                f"{op.id}: {op.kind.value} takes no argument but cta_group, so it cannot be written"
            )
        self.lines.add(f"{self.imports(op.kind.value)}({', '.join(given)})")

    def resource_op(self, op: Op) -> None:
        """A pipeline op or work."""
        method = op.work if op.kind is OpKind.WORK else op.kind.value
        if op.kind is OpKind.WORK and not is_work_name(method):
            raise ValueError(f"{op.id}: no work can be called {method!r}, so it cannot be written")
        resource = find_resource(self.document, op.target)
        work = find_work(resource, op.work)
        parameters = work.parameters if work else ()
        copies = work is not None and resource is not None and engine_of(resource, work) is Engine.TMA
        reach = "multicast" if copies and work.role == "producer" else "cta"
        given = {"stage": op.stage, "footprint": op.footprint, "tx": op.tx, reach: op.ctas or None}
        taken = [k for k, _ in op.args if k in RESERVED and k not in parameters]
        taken += [k for k, v in given.items() if v is not None and k in parameters]
        if taken:
            raise ValueError(f"{op.id}: {taken[0]}= is an argument of the op itself, so it cannot be a value")
        arguments = [(key, self.value(value)) for key, value in op.args]
        chosen = resource is not None and resource.pipeline is not None  # by the pipeline's cursor
        if op.stage is not None and not chosen:
            arguments.append(("stage", self.integer(op.stage)))
        if op.footprint is not None:
            storage = resource.storage if resource else None
            arguments.append(("footprint", self.resources.footprint(op.footprint, storage)))
        if op.tx is not None:
            arguments.append(("tx", str(op.tx)))
        if op.ctas:
            arguments.append((reach, literal(op.ctas)))
        if op.implicit and op.kind is not OpKind.WORK:
            arguments.append(("implicit", "True"))
        variables, named = self.results(op, work.returns if work else ())
        if named:
            arguments.append(("results", literal(op.results)))
        assigned = f"{', '.join(variables)} = " if variables else ""
        self.lines.add_call(f"{assigned}{self.objects[op.target]}.{method}", keywords(arguments))

    def integer(self, value: Integer | None) -> str:
        """A stage or a count, over the loops that are open here."""
        if value is None:
            return "None"
        for name in variables_of(value):
            if name not in self.handles:
                self.handles[name] = f"{self.imports('named_loop')}({literal(name)})"
        return self.expressions(value, self.handles)

    def results(self, op: Op, returns: tuple[str, ...]) -> tuple[list[str], bool]:
        """The variables that take the results, and whether their names must be written out."""
        if not self.mentioned.intersection(op.results):
            variables = []
        else:
            variables = [self.names.new(result) for result in op.results]
            self.variables |= dict(zip(op.results, variables, strict=True))
        if returns:  # capture names what the work declares, whoever takes it
            return variables, [self.recorder.name_once(r) for r in returns] != list(op.results)
        if len(variables) < 2:  # named on first use, which may come after other names were given
            return variables, bool(op.results)
        return variables, [self.recorder.name_once(v) for v in variables] != list(op.results)

    def value(self, value: Token | Value) -> str:
        """An argument."""
        if isinstance(value, Token):
            known = self.variables.get(value.name) or self.handles.get(value.name)
            return known or f"{self.imports('named_token')}({literal(value.name)})"
        return literal(value)


def mentioned(nodes: Iterable[Node]) -> Iterator[str]:
    """The values and loops that ``nodes`` refer to."""
    for node in nodes:
        if isinstance(node, Op):
            yield from (value.name for _, value in node.args if isinstance(value, Token))
            for _, expression in expressions_of(node):
                yield from variables_of(expression)
            continue
        if isinstance(node, Guard):
            yield from (node.token, node.loop)
        yield from mentioned(node.body)


def used_objects(nodes: Iterable[Node]) -> list[str]:
    """The names of what ``nodes`` are done on, in order of first use."""
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, Op):
            if node.target:
                found.setdefault(node.target)
        else:
            if isinstance(node, Loop) and node.queue:
                found.setdefault(node.queue)
            found |= dict.fromkeys(used_objects(node.body))
    return list(found)


def tile_counts(tasks: Iterable[Task]) -> dict[str, object]:
    """The tile count that the first loop over each queue has."""
    found: dict[str, object] = {}

    def look(nodes: Iterable[Node]) -> None:
        for node in nodes:
            if isinstance(node, Loop) and node.queue:
                found.setdefault(node.queue, node.stop)
            if not isinstance(node, Op):
                look(node.body)

    for task in tasks:
        look(task.body)
    return found
