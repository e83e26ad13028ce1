"""Which trip counts and which outcomes of run-time conditions a listed verification tries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import product
from math import lcm, prod

from .clusters import for_each_cta, looked_at, values_of_cta
from .conditions import condition_keys
from .document import Document, Guard, GuardKind, Loop, Node, Op
from .expressions import leaves, symbols_of
from .op_integers import expressions_of, symbols_used
from .periods import NoPeriod, period
from .tile_kinds import LONGEST, TileKinds, TileSequence, tile_kinds
from .tree import ops_of, walk
from .unroll import trip_count

Values = dict[str, int]
Patterns = dict[str, tuple[int, ...]]

TILES = 3  # largest tile count tried: half of the field's multi-tile bugs need two, some three
MAX_PERIOD = 24  # a longer common period of the pipelines is not covered twice
MAX_EVENTS = 30_000  # of all default valuations together; beyond it they are thinned out
SETUP = 60
REACH = 1024  # values of a symbol in which those are looked for that make a loop run
SEQUENCES = 60_000  # events of the sequences of tiles that are not tried in any case
MAX_CHOICES = 1024  # more combinations of symbols are not even listed
PATTERN = 4  # outcomes of a condition that are tried in every order, over and over: all sequences of up to so many tiles
PATTERNS = (
    (True,),
    (False,),
    (True, False),
    (False, True),
    *(p for p in product((True, False), repeat=PATTERN) if p[:2] != p[2:]),
)
SIMPLE = PATTERNS[:4]  # of two conditions at once


def symbol_ranges(document: Document) -> dict[str, tuple[int, ...]]:
    """For each symbol of a loop bound the values tried by default: from its least, over two periods of the pipelines, and
    those that make its loops run so often where a bound is less than the symbol."""
    least = {s.name: s.min for s in document.symbols}
    tile, used = set(), {}
    for loop in loops_of(document):
        for bound in (loop.start, loop.stop, loop.step):
            for symbol in symbols_of(bound):
                used.setdefault(symbol.name, least.get(symbol.name, symbol.min))
                if loop.kind == "tile":
                    tile.add(symbol.name)
    for symbol in symbols_used(n for t in document.tasks for n in t.body):
        used.setdefault(symbol.name, least.get(symbol.name, symbol.min))
    top = 2 * _period(document) + 1
    tiles = PATTERN if condition_keys(document) else TILES
    tops = {name: tiles if name in tile else top for name in used}
    ranges = {name: set(range(low, max(low + 2, tops[name]) + 1)) for name, low in used.items()}
    for loop in loops_of(document):
        names = {s.name for bound in (loop.start, loop.stop, loop.step) for s in symbols_of(bound)}
        if len(names) == 1:
            (name,) = names
            ranges[name].update(_reaching(loop, name, used[name], tops[name]))
    found = {name: tuple(sorted(values)) for name, values in ranges.items()}
    return for_each_cta(document, found)


def _reaching(loop: Loop, name: str, least: int, top: int) -> Iterator[int]:
    """The first values of the loop's only symbol with which it runs once, twice, ... up to ``top`` times."""
    most = 0
    for value in range(least, least + REACH):
        trips = trip_count(loop, {name: value})
        if trips > most:
            most = trips
            yield value
        if trips >= top:
            return


def loops_of(document: Document) -> Iterator[Loop]:
    """Every loop of every task."""
    return (n for t in document.tasks for n in walk(t.body) if isinstance(n, Loop))


def _period(document: Document) -> int:
    """After how many iterations every pipeline is at the same stage: the schedule repeats, with the parity after two."""
    stages = [max(1, r.pipeline.stages) for r in document.resources if r.pipeline]
    stages += [max(1, m.stages) for m in document.mbarriers]
    stages += [
        max(1, n.period)
        for t in document.tasks
        for n in walk(t.body)
        if isinstance(n, Guard) and n.kind is GuardKind.EVERY
    ]
    stages += _computed_periods(document)
    common = lcm(*stages) if stages else 1
    return common if common <= MAX_PERIOD else min(max(stages), MAX_PERIOD)


def _computed_periods(document: Document) -> list[int]:
    """Of the stages and parities that ops compute, with each variable: those that have one."""
    found = []
    for expression in {e for t in document.tasks for o in ops_of(t) for _, e in expressions_of(o)}:
        for leaf in leaves(expression):
            with suppress(NoPeriod):
                found.append(period(expression, leaf.name))
    return found


def condition_patterns(document: Document) -> list[Patterns]:
    """The usual outcomes first; then all patterns of one key at a time, constants and alternations of two together, and all
    keys alike."""
    keys = condition_keys(document)
    usual: Patterns = {key: (outcome,) for key, outcome in keys.items()}
    others = (
        [dict(zip(keys, choice, strict=True)) for choice in product(SIMPLE, repeat=len(keys))]
        if len(keys) <= 2
        else []
    )
    others += [usual | {key: pattern} for pattern in PATTERNS for key in keys]
    others += [dict.fromkeys(keys, pattern) for pattern in PATTERNS]
    found = [usual]
    for pattern in others:
        if pattern not in found:
            found.append(pattern)
    return found if keys else [{}]


def simple_patterns(document: Document) -> list[Patterns]:
    """The usual outcomes first; then each condition constant and alternating, alone and all alike."""
    keys = condition_keys(document)
    usual: Patterns = {key: (outcome,) for key, outcome in keys.items()}
    found = [usual]
    for pattern in SIMPLE:
        for changed in (*(usual | {key: pattern} for key in keys), dict.fromkeys(keys, pattern)):
            if changed not in found:
                found.append(changed)
    return found


def running(document: Document, ranges: Mapping[str, tuple[int, ...]] | None = None) -> Values:
    """The least listed value of each symbol with which every loop over it alone runs three times, as far as there is one.
    ``ranges``: the `symbol_ranges` of ``document``, where they are known."""
    loops = [
        (loop, {s.name for e in (loop.start, loop.stop, loop.step) for s in symbols_of(e)})
        for loop in loops_of(document)
    ]
    chosen = {}
    for name, values in (symbol_ranges(document) if ranges is None else ranges).items():
        own = [loop for loop, names in loops if names == {name}]
        long = (v for v in values[3:] if all(trip_count(loop, {name: v}) >= 3 for loop in own))
        chosen[name] = next(long, values[-1])
    return chosen


def combinations(document: Document, given: Mapping[str, Iterable[int]] | None = None) -> int:
    """How many choices of all symbols the listed values make."""
    ranges = symbol_ranges(document) | {n: tuple(dict.fromkeys(v)) for n, v in (given or {}).items()}
    return prod(len(values) for values in ranges.values())


def valuations(document: Document, given: Mapping[str, Iterable[int]] | None = None) -> list[Values]:
    """Choices of all symbols, smallest first. ``given`` values are tried in full; default ranges are thinned out where
    all combinations are too much work."""
    ranges = symbol_ranges(document)
    named = {n: tuple(dict.fromkeys(values)) for n, values in (given or {}).items() if n in ranges}
    ranges.update(named)
    if prod(len(values) for values in ranges.values()) > MAX_CHOICES:
        return _one_at_a_time(ranges)
    every = [dict(zip(ranges, choice, strict=True)) for choice in product(*ranges.values())]
    every.sort(key=size)
    if named or len(every) == 1:
        return every
    return _affordable(document, every, ranges)


def too_thin(document: Document, given: Mapping[str, Iterable[int]] | None = None) -> str:
    """Why the listed trip counts say too little: some symbol does not reach its third value, where a ring may first be
    reused or a second tile begin, or some loop never runs. "" if all do."""
    choices = valuations(document, given)
    for name, values in symbol_ranges(document).items():
        tried = {v[name] for v in choices}
        if name not in (given or {}) and len(tried) < min(3, len(values)):
            shown = ", ".join(map(str, sorted(tried)))
            return f"only {name} = {shown} was affordable: more takes over {2 * MAX_EVENTS:,} events"
    for loop in loops_of(document):
        names = {s.name for bound in (loop.start, loop.stop, loop.step) for s in symbols_of(bound)}
        if names and not names & set(given or {}) and not any(trip_count(loop, v) for v in choices):
            return f"the loop {loop.id} runs no iteration with any value that was tried"
    return ""


def size(values: Values) -> tuple[int, tuple[int, ...]]:
    """The order of cases, smallest first."""
    return sum(values.values()), tuple(values.values())


def _one_at_a_time(ranges: dict[str, tuple[int, ...]]) -> list[Values]:
    """All at their least, all at their third value, and one symbol moved away from each of these."""
    found: dict[tuple[int, ...], Values] = {}
    for place in (0, 2):
        base = {name: values[min(place, len(values) - 1)] for name, values in ranges.items()}
        for name, values in ranges.items():
            for value in values:
                choice = base | {name: value}
                found[tuple(choice.values())] = choice
    return sorted(found.values(), key=size)


def _affordable(document: Document, every: list[Values], ranges: dict[str, tuple[int, ...]]) -> list[Values]:
    if sum(cost(document, v) for v in every) <= MAX_EVENTS:
        return every
    low = {name: values[min(2, len(values) - 1)] for name, values in ranges.items()}
    kept = [v for v in every if sum(v[name] != low[name] for name in v) <= 1]  # one symbol at a time
    kept += [v for v in every if len(set(v.values())) == 1]  # all alike
    kept += [v for v in every if all(n in ranges[name][:3] for name, n in v.items())]  # all small ones
    kept.append(every[-1])
    return _within(document, [v for v in every if v in kept], 2 * MAX_EVENTS)


def _within(document: Document, choices: list[Values], events: int) -> list[Values]:
    """The first of ``choices`` that make ``events`` together; at least one."""
    chosen: list[Values] = []
    for values in choices:
        events -= cost(document, values)
        if events < 0 and chosen:
            break
        chosen.append(values)
    return chosen


def cases(
    document: Document, given: Mapping[str, Iterable[int]] | None = None
) -> Iterator[tuple[Values, Patterns]]:
    """What a listed verification runs: all choices of trip counts under the usual conditions, then under the others as
    many of the small choices as are affordable (longer patterns where every loop runs long enough for them)."""
    choices, patterns = valuations(document, given), condition_patterns(document)
    yield from ((values, patterns[0]) for values in choices)
    decided = tile_kinds(document)
    if decided:
        yield from tile_sequences(document, decided, choices, given)
    if set(decided.keys) == set(condition_keys(document)):
        return
    long = [p for p in patterns if any(len(outcomes) > 2 for outcomes in p.values())]
    short = [p for p in patterns[1:] if p not in long]
    ranges = {name: max(v[name] for v in choices) for name in (choices[0] if choices else ())}
    deep = [v for v in choices if all(n >= min(PATTERN, ranges[name]) for name, n in v.items())]
    for group, fitting in ((short, choices), (long, deep)):
        share = fitting if given else _within(document, fitting, MAX_EVENTS // max(1, len(group)))
        yield from ((values, pattern) for pattern in group for values in share)


def tile_sequences(
    document: Document,
    decided: TileKinds,
    choices: list[Values],
    given: Mapping[str, Iterable[int]] | None = None,
) -> Iterator[tuple[Values, Patterns]]:
    """Sequences of up to `LONGEST` tiles, the shortest first: all of them at one choice of the other symbols, with the three
    least values of those that are per tile; then, as far as is affordable, at other choices and with other values."""
    ranges = symbol_ranges(document)
    own = {n: tuple((given or {}).get(n, ranges.get(n, (low,)))) for n, low in decided.symbols.items()}
    others = [n for n in ranges if n != decided.tiles and n not in own]
    rest = list({tuple(v[n] for n in others): {n: v[n] for n in others} for v in choices}.values())
    third = {n: ranges[n][min(2, len(ranges[n]) - 1)] for n in others}
    rest.sort(key=lambda v: (v != third, sum(v.values())))
    usual, seen, left = condition_patterns(document)[0], set(), SEQUENCES
    for values, most in [(rest[0], 3), *((v, 3) for v in rest[1:]), *((v, None) for v in rest if own)]:
        kinds = decided.kinds(document, {name: numbers[:most] for name, numbers in own.items()})
        for n in _lengths(document, decided, choices[0], given):
            if len(kinds) ** n > MAX_CHOICES:
                break
            for chosen in sorted(product(kinds, repeat=n), key=partial(decided.oddity, kinds[0])):
                patterns = TileSequence(usual | decided.sequence(chosen), decided.text(chosen))
                case = values | ({decided.tiles: n} if decided.tiles else {})
                case |= {name: max(patterns[name]) for name in own}
                key = tuple(case.values()), chosen
                if key in seen:
                    continue
                seen.add(key)
                left -= cost(document, case)
                if left < 0 and values is not rest[0]:
                    return
                yield case, patterns


def _lengths(
    document: Document, decided: TileKinds, values: Values, given: Mapping[str, Iterable[int]] | None
) -> list[int]:
    """How many tiles a sequence may have."""
    if decided.tiles:
        found = (given or {}).get(decided.tiles, range(1, LONGEST + 1))
    else:
        found = {trip_count(x, values) for x in loops_of(document) if x.id in decided.loops}
    return sorted(n for n in found if 0 < n <= LONGEST)


def cost(document: Document, values: Mapping[str, int]) -> int:
    """About how many events the program has, and what it takes to set it up, in events."""
    seen = [values_of_cta(document, values, c) for c in range(looked_at(document))]
    return SETUP + sum(min(4, t.num_warps) * _events(t.body, own) for own in seen for t in document.tasks)


def _events(nodes: Iterable[Node], values: Mapping[str, int]) -> int:
    total = 0
    for node in nodes:
        if isinstance(node, Op):
            total += 1
        elif isinstance(node, Loop):
            total += trip_count(node, values) * (1 + _events(node.body, values))
        else:
            total += _events(node.body, values)
    return total
