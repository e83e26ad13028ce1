"""A task's schedule as a function for Task Scheduling."""

from __future__ import annotations

from warpdraft.core.document import Guard, GuardKind, Loop, Op, OpKind, Token, Value
from warpdraft.core.expressions import Symbol
from warpdraft.core.python_schedules import UNNAMED, ScheduleWriter
from warpdraft.core.python_text import call, keywords, literal
from warpdraft.core.tree import find_resource, find_work, ops_of

from .bounds import GETTER, getter_class

ADVANCE = "get_and_advance_work_tile"
SKIPPED = "skip_"


class TsScheduleWriter(ScheduleWriter):
    """Writes what `stated` lets through: pipeline ops and works, a loop over tiles, a domain loop, conditions."""

    def loop(self, loop: Loop) -> None:
        """A loop with its body; it is called as in the document."""
        plain = loop.var == UNNAMED[loop.kind] and loop.var not in self.mentioned
        if not plain:
            self.handles[loop.var] = self.names.new(loop.var)
        tail = ":" if plain else f" as {self.handles[loop.var]}:"
        if loop.kind == "tile":
            head, arguments = self.imports("work_tile_loop"), [self.objects[loop.queue]]
            if loop.skip_if:
                arguments.append(f"skip_if={predicate_name(loop.skip_if)}")
        else:
            head = self.imports("domain_loop")
            arguments = [self.expressions(loop.start), self.stop(loop), self.expressions(loop.step)]
            if loop.unroll is not None:
                arguments.append(f"unroll={loop.unroll}")
        with self.lines.block(call(f"with {head}", arguments, tail, self.lines.room)):
            self.write(loop.body)

    def stop(self, loop: Loop) -> str:
        """Where the loop stops: a value, or what the task is asked for in each tile."""
        if isinstance(loop.stop, Symbol) and loop.stop.per_tile:
            return f"{getter_class(loop.stop)}.{GETTER}"
        return self.expressions(loop.stop)

    def guard(self, guard: Guard) -> str:
        """The call that opens ``guard``'s block."""
        if guard.kind in (GuardKind.WHEN_TRUE, GuardKind.WHEN_FALSE):
            tested = self.value(Token(guard.token)) if guard.token else "None"
            key = "" if guard.token and guard.key == self.usual_key(guard) else f", key={literal(guard.key)}"
            return f"{self.imports(guard.kind.value)}({tested}{key})"
        return super().guard(guard)

    def usual_key(self, guard: Guard) -> str:
        """The key that a condition has if none is given: resource, work and value."""
        for op in ops_of(self.task):
            if guard.token in op.results:
                work = find_work(find_resource(self.document, op.target), op.work)
                returned = work.returns if work else ()
                place = op.results.index(guard.token)
                return f"{op.target}.{op.work}.{returned[place] if place < len(returned) else place}"
        return ""

    def op(self, op: Op) -> None:
        """One statement."""
        method = op.work if op.kind is OpKind.WORK else op.kind.value
        arguments = [(name, self.value(value)) for name, value in op.args]
        variables = self.taken(op)
        assigned = f"{', '.join(variables)} = " if variables else ""
        bracket = method == ADVANCE and self._waits_for_nothing(op.target)
        if bracket:  # Task Scheduling asks for both, and does neither where the queue has no pipeline
            self.lines.add(f"{self.objects[op.target]}.wait()")
        self.lines.add_call(f"{assigned}{self.objects[op.target]}.{method}", keywords(arguments))
        if bracket:
            self.lines.add(f"{self.objects[op.target]}.release()")

    def _waits_for_nothing(self, queue: str) -> bool:
        """Whether ``queue`` has no pipeline."""
        resource = find_resource(self.document, queue)
        return resource is not None and resource.pipeline is None

    def taken(self, op: Op) -> list[str]:
        """The variables that take the results, if any is used."""
        if not self.mentioned.intersection(op.results):
            return []
        variables = [self.names.new(result) for result in op.results]
        self.variables |= dict(zip(op.results, variables, strict=True))
        return variables

    def value(self, value: Token | Value) -> str:
        """An argument."""
        if isinstance(value, Token) and value.name not in self.variables:
            raise ValueError(f"{self.task.name}: {value.name} is used before any work has returned it")
        return super().value(value)


def predicate_name(skip_if: str) -> str:
    """The variable of a skip predicate: a function of the module, or ``Class.method``."""
    return skip_if if all(part.isidentifier() for part in skip_if.split(".")) else f"{SKIPPED}tile"
