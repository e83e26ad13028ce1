"""How a schedule grows with the symbols of its loop bounds: which loops get how many more iterations, after which period.

A bound e of symbol X is usable if e(X + p) = e(X) + s for all X from some value on, with constants p and s: sums,
multiples, quotients and remainders by constants are, from the first value; `min` and `max` of such, and quotients of
constants by them, once one side stays ahead; products of symbols are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import gcd, lcm

from .clusters import CLUSTER_KINDS, for_each_cta, symbol_of
from .document import Document, Guard, GuardKind, Loop, Node, Op, OpKind, Space
from .expressions import Integer, Operation, Symbol, evaluate, symbols_of
from .footprints import stage_bytes
from .machine import Machine
from .op_integers import ITERATION, by_iterations, expressions_of, iteration_of
from .periods import NoPeriod, period
from .tree import ops_of, walk
from .valuations import loops_of

FAR = 64  # values of a symbol up to which a bound must have settled: all of them are run


class NoGrowth(Exception):
    """Why a schedule's growth has no simple form."""


@dataclass(slots=True)
class Growing:
    """A loop that runs ``slope`` iterations more for each ``period`` of ``symbol``. What its guards ask for: ``head`` first
    iterations and ``tail`` last ones are special, and the others repeat after ``every``. Loops over one symbol that signal
    each other are one ``team``, by number."""

    symbol: str
    period: int
    slope: int
    head: int = 0
    tail: int = 0
    every: int = 1
    team: int = 0


@dataclass(slots=True)
class Growth:
    """The growing loops by id, for each symbol its least value and the step after which the schedule may repeat, and the
    pipelines whose stages are not alike (other bytes lie over them, or their copies complete barriers of their own)."""

    loops: dict[str, Growing] = field(default_factory=dict)
    least: dict[str, int] = field(default_factory=dict)
    settled: dict[str, int] = field(
        default_factory=dict
    )  # by symbol, the value from which its bounds grow so
    steps: dict[str, int] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()
    per_cta: frozenset[str] = frozenset()  # symbols with a value of their own in each CTA
    outer: set[str] = field(default_factory=set)  # symbols of loops around loops
    computed: set[str] = field(default_factory=set)  # symbols that stages and parities are computed with
    periods: dict[str, int] = field(default_factory=dict)  # of stages and parities, by symbol

    def of(self, loop_id: str, cta: int) -> Growing | None:
        """The growing loop in CTA ``cta``, over that CTA's value of its symbol."""
        found = self.loops.get(loop_id)
        if found is None or not cta or found.symbol not in self.per_cta:
            return found
        return replace(found, symbol=symbol_of(found.symbol, cta))

    def number(self, loop: Growing, before: int) -> int:
        """A number for an instance of ``loop`` behind ``before`` others of its team: the same in all tasks of the team."""
        return loop.team + before * len(self.loops)

    def more(self, loop: Growing) -> int:
        """Iterations that ``loop`` gets with one more step of its symbol."""
        return loop.slope * self.steps[loop.symbol] // loop.period


def growth_of(machine: Machine) -> Growth:
    """The growth of ``machine``'s document. Raises NoGrowth with the reason where a bound or a nest has none."""
    document = machine.document
    found = Growth(fixed=_fixed(machine))
    least = {s.name: s.min for s in document.symbols}
    for task in document.tasks:
        _collect(task.body, (), found, least)
    names = sorted(
        found.least,
        key=lambda n: (
            any(_is_tile(document, n, i) for i in found.loops),
            bool(found.computed) and n in found.outer,
        ),
    )
    found.least = {
        n: found.least[n] for n in names
    }  # tiles last, as are other loops around loops with computed stages
    alike = lcm(*(machine.resources[r].pipeline.stages for r in found.fixed)) if found.fixed else 1
    parity = 2 if any(_parity_wait(o) for t in document.tasks for o in ops_of(t)) else 1
    for name in names:
        step = lcm(alike, parity, found.periods.get(name, 1))
        for loop in found.loops.values():
            if loop.symbol == name:
                step = lcm(step, loop.period)
                if loop.slope:
                    more = loop.slope * step // loop.period
                    step *= loop.every // gcd(loop.every, more)
        found.steps[name] = step
    found.loops = {i: g for i, g in found.loops.items() if g.slope}
    _team_up(document, found)
    found.per_cta = frozenset(s.name for s in document.symbols if s.per_cta)
    found.settled = {n: found.settled.get(n, 0) for n in found.least}
    sides = found.least, found.settled, found.steps
    found.least, found.settled, found.steps = (for_each_cta(document, side) for side in sides)
    return found


def _team_up(document: Document, found: Growth) -> None:
    """Loops over one symbol with ops on the same barriers belong together, whatever other loops their tasks run."""
    teams: list[tuple[str, set[str], list[Growing]]] = []
    piped = {r.name for r in document.resources if r.pipeline}
    piped |= {b.name for b in (*document.barriers, *document.mbarriers)}
    for loop in loops_of(document):
        growing = found.loops.get(loop.id)
        if growing is None:
            continue
        ops = [n for n in walk(loop.body) if isinstance(n, Op)]
        names = {o.target for o in ops} & piped
        if any(o.kind in CLUSTER_KINDS for o in ops):
            names.add("")  # the cluster's barrier, which has no name
        mine = [t for t in teams if t[0] == growing.symbol and t[1] & names]
        members = [growing, *(g for t in mine for g in t[2])]
        teams = [t for t in teams if t not in mine]
        teams.append((growing.symbol, names.union(*(t[1] for t in mine)), members))
    for number, (_, _, members) in enumerate(teams):
        for growing in members:
            growing.team = number - min(n for n, t in enumerate(teams) if t[0] == growing.symbol)


def _is_tile(document: Document, name: str, loop_id: str) -> bool:
    loops = (loop for loop in loops_of(document) if loop.id == loop_id and loop.kind == "tile")
    return any(s.name == name for loop in loops for s in symbols_of(loop.stop))


def _collect(
    nodes: tuple[Node, ...], outer: tuple[tuple[Loop, Growing | None], ...], found: Growth, least: dict
) -> None:
    for node in nodes:
        if isinstance(node, Loop):
            growing = _growing(node, found, least)
            if growing and any(g and g.symbol == growing.symbol for _, g in outer):
                raise NoGrowth(f"loops over {growing.symbol} are nested")
            if growing:
                found.outer |= {g.symbol for _, g in outer if g}
            _collect(node.body, (*outer, (node, growing)), found, least)
        elif isinstance(node, Guard):
            _note_guard(node, outer)
            _collect(node.body, outer, found, least)
        else:
            _note_integers(node, outer, found, least)


def _growing(loop: Loop, found: Growth, least: dict) -> Growing | None:
    names = {s.name: s.min for e in (loop.start, loop.stop, loop.step) for s in symbols_of(e)}
    if not names:
        return None
    if len(names) > 1:
        raise NoGrowth(f"a loop runs over {' and '.join(sorted(names))} together")
    if not isinstance(loop.step, int) or loop.step <= 0:
        raise NoGrowth("the step of a loop is no positive constant")
    ((name, low),) = names.items()
    count = Operation("ceil_div", Operation("-", loop.stop, loop.start), loop.step)
    period, slope, since = grows(count, name)
    if slope < 0:
        raise NoGrowth(f"a loop gets shorter with {name}")
    found.least.setdefault(name, least.get(name, low))
    found.settled[name] = max(since, found.settled.get(name, 0))
    return found.loops.setdefault(loop.id, Growing(name, period, slope))


def grows(expression: Integer, name: str) -> tuple[int, int, int]:
    """(p, s, t) such that ``expression`` grows by s whenever symbol ``name`` grows by p, from its value t on.

    >>> k = Symbol("k")
    >>> grows((k + 1) // 2, "k"), grows(1 - Operation("min", k, 1), "k"), grows(6 // (k + 1), "k")
    ((2, 1, 0), (1, 0, 1), (1, 0, 6))
    """
    if isinstance(expression, Symbol):
        return 1, int(expression.name == name), 0
    if isinstance(expression, int) or name not in {s.name for s in symbols_of(expression)}:
        return 1, 0, 0
    operator, left, right = expression.operator, expression.left, expression.right
    if operator in ("+", "-", "min", "max"):
        (p, s, since), (q, t, other) = grows(left, name), grows(right, name)
        common, since = lcm(p, q), max(since, other)
        s, t = s * (common // p), t * (common // q)
        if operator in "+-":
            return common, s + t if operator == "+" else s - t, since
        return _overtaking(expression, name, (common, s, t), since)
    if operator == "*" and isinstance(left, int):
        left, right = right, left
    if isinstance(right, int):
        p, s, since = grows(left, name)
        if operator == "*":
            return p, s * right, since
        if operator in ("//", "ceil_div", "%") and right > 0:
            times = right // gcd(s, right)
            return p * times, 0 if operator == "%" else s * times // right, since
    elif isinstance(left, int) and operator == "//":
        p, s, since = grows(right, name)
        if s > 0 <= left:
            return 1, 0, _settles(lambda value: evaluate(right, {name: value}) > left, since, p)
    raise NoGrowth(f"the bound {expression} has no constant growth")


def _overtaking(
    chosen: Operation, name: str, growth: tuple[int, int, int], since: int
) -> tuple[int, int, int]:
    """The growth of a `min` or `max` whose sides grow by s and t a period: that of the one which is chosen in the end."""
    period, s, t = growth
    if s == t:
        return period, s, since
    ahead, slope = (chosen.left, s) if (s < t) == (chosen.operator == "min") else (chosen.right, t)

    def holds(value: int) -> bool:
        return evaluate(chosen, {name: value}) == evaluate(ahead, {name: value})

    return period, slope, _settles(holds, since, period)


def _settles(holds: Callable[[int], bool], since: int, period: int) -> int:
    """The value from which ``holds`` does: for ever after a period in which it does. Raises NoGrowth if that is far."""
    streak = 0
    for value in range(since, since + FAR + period):
        streak = streak + 1 if holds(value) else 0
        if streak == period:
            return value + 1 - period
    raise NoGrowth(f"a bound changes its growth beyond {since + FAR}")


def _note_guard(guard: Guard, outer: tuple[tuple[Loop, Growing | None], ...]) -> None:
    meant = next((g for loop, g in reversed(outer) if guard.loop in ("", loop.var)), None)
    if meant is None:
        return
    if guard.kind is GuardKind.FIRST_ITER:
        meant.head = max(meant.head, 1)
    elif guard.kind is GuardKind.LAST_ITER:
        meant.tail = 1
    elif guard.kind is GuardKind.EVERY and guard.period > 0:
        meant.head = max(meant.head, guard.start)
        meant.every = lcm(meant.every, guard.period)


def _note_integers(
    op: Op, outer: tuple[tuple[Loop, Growing | None], ...], found: Growth, least: dict
) -> None:
    """What a stage or parity asks of the symbols in it, and of the iterations around it."""
    for _, expression in expressions_of(op):
        over = by_iterations(expression, [loop for loop, _ in outer])
        try:
            for loop, growing in outer:
                if growing:
                    growing.every = lcm(growing.every, period(over, iteration_of(loop)))
            for symbol in symbols_of(over):
                if not symbol.name.startswith(ITERATION):
                    found.computed.add(symbol.name)
                    found.least.setdefault(symbol.name, least.get(symbol.name, symbol.min))
                    known = found.periods.get(symbol.name, 1)
                    found.periods[symbol.name] = lcm(known, period(over, symbol.name))
        except NoPeriod as reason:
            raise NoGrowth(f"{op.id}: {reason}") from None


def _parity_wait(op: Op) -> bool:
    return op.kind in (OpKind.MBARRIER_WAIT, OpKind.MBARRIER_TRY_WAIT) and op.count is not None


def _fixed(machine: Machine) -> frozenset[str]:
    """Pipelines whose stages differ by more than their number."""
    named = {
        o.target
        for t in machine.document.tasks
        for o in ops_of(t)
        for _, value in o.args
        if isinstance(value, str) and (value, "raw") in machine.first
    }
    places = []
    for r in machine.document.resources:
        if r.name in machine.offsets:
            low = machine.offsets[r.name]
            stages = max(r.pipeline.stages if r.pipeline else 1, r.storage.stages if r.storage else 1)
            places.append((r, low, low + stages * stage_bytes(r)))
    for r, low, high in places:
        if any(o is not r and o.space is r.space and a < high and low < b for o, a, b in places):
            named.add(r.name)
    known = machine.resources
    odd = {
        r.name
        for r in known.values()
        if r.pipeline and r.space not in (Space.RMEM,) and r.storage and r.storage.stages != r.pipeline.stages
    }
    return frozenset(
        n for n in named | odd if n in known and known[n].pipeline and known[n].pipeline.stages > 0
    )
