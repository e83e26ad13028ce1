"""From one CTA to the whole launch: how many cycles a kernel takes at given sizes, as far as one CTA's timeline tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

from ..document import Document, Loop
from ..expressions import Symbol, evaluate
from ..occupancy import ctas_per_sm
from ..tree import walk
from .costs import Costs, costs_of
from .simulate import simulate
from .values import events

SMS = 132  # of an H100 SXM and an H200 (NVIDIA H100 whitepaper)
DIRECT = 20_000  # events that are simulated one by one; larger sizes are extrapolated
# Where extrapolation starts, and how far its second point lies: past the start-up, and a multiple of the usual four stages.
TRIPS, TRIPS_STEP = 16, 8
TILES, TILES_STEP = 3, 1


@dataclass(frozen=True, slots=True)
class Prediction:
    """``cycles`` of the launch: ``waves`` times those of the CTA with the most work (``values``: its trip counts).

    CTAs that share a multiprocessor are one wave: they take as long as one alone, or as the busiest engine works for all
    of them. ``exact``: the CTA was simulated to its end; otherwise its steady state was extended. CTAs do not slow each
    other down otherwise in this model: the limits of L2 and DRAM are not in it.
    """

    cycles: int
    ctas: int
    waves: int
    values: tuple[tuple[str, int], ...]
    exact: bool


def predict(
    document: Document, sizes: Mapping[str, int] | None = None, sms: int = SMS, costs: Costs | None = None
) -> Prediction:
    """Cycles of ``document``'s kernel at ``sizes`` (those not given: its own) on a device with ``sms`` SMs.

    Raises ValueError for a document without a kernel, KeyError with the name of a size that is missing.
    """
    ctas, values = cta_values(document, sizes, sms)  # CTA 0 has as many tiles as any
    costs = costs or costs_of(document)
    exact = events(document, values) <= DIRECT
    corners = [(1.0, values)] if exact else _corners(values, tile_counts(document))
    alone, engines = 0.0, Counter[str]()
    for weight, trips in corners:
        timeline = simulate(document, trips, costs)
        alone += weight * timeline.total
        for engine, cycles in timeline.busy:
            engines[engine] += weight * cycles
    together = min(ctas_per_sm(document), max(1, -(-ctas // sms)))
    waves = -(-ctas // (sms * together))
    cycles = max(alone, together * max(engines.values(), default=0)) + costs.launch
    return Prediction(round(waves * cycles), ctas, waves, tuple(values.items()), exact)


def cta_values(
    document: Document, sizes: Mapping[str, int] | None = None, sms: int = SMS, cta: int = 0
) -> tuple[int, dict[str, int]]:
    """How many CTAs are launched at ``sizes``, and the trip counts of CTA ``cta``. Raises as `predict`."""
    kernel = document.kernel
    if kernel is None:
        raise ValueError(f"{document.name} says nothing of sizes (it has no kernel)")
    known = {**dict(kernel.sizes), **(sizes or {})}
    work = evaluate(kernel.grid, known)
    ctas = min(work, sms * ctas_per_sm(document)) if tile_counts(document) else work
    known |= {"grid": max(1, ctas), "cta": cta}
    return ctas, {name: evaluate(expression, known) for name, expression in kernel.trip_counts}


def tile_counts(document: Document) -> set[str]:
    """The symbols that count the work tiles of a CTA; a persistent kernel has some."""
    loops = (node for task in document.tasks for node in walk(task.body) if isinstance(node, Loop))
    return {loop.stop.name for loop in loops if loop.kind == "tile" and isinstance(loop.stop, Symbol)}


def _corners(values: Mapping[str, int], counts: set[str]) -> Iterator[tuple[float, dict[str, int]]]:
    """Small runs with weights, which together extend the plane (for two symbols: the bilinear surface) to ``values``."""
    axes = []
    for name, value in values.items():
        base, step = (TILES, TILES_STEP) if name in counts else (TRIPS, TRIPS_STEP)
        if value <= base + step:
            axes.append(((name, value, 1.0),))
        else:
            beyond = (value - base) / step
            axes.append(((name, base, 1 - beyond), (name, base + step, beyond)))
    for corner in product(*axes):
        yield prod(share for _, _, share in corner), {name: value for name, value, _ in corner}
