"""From one CTA to the whole launch: how many cycles a kernel takes at given sizes, as far as one CTA's timeline tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from ..document import Document, Loop
from ..expressions import Symbol, evaluate
from ..occupancy import ctas_per_sm
from ..tree import walk
from .costs import Costs
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

    ``exact``: the CTA was simulated to its end; otherwise its steady state was extended. CTAs do not slow each other down
    in this model: the limits of L2 and DRAM are not in it. Those that share a multiprocessor are counted one after another:
    what they overlap is not in it either.
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
    waves = -(-ctas // sms)
    counts = tile_counts(document)
    exact = events(document, values) <= DIRECT
    cycles = (
        simulate(document, values, costs).total if exact else _extrapolated(document, values, counts, costs)
    )
    return Prediction(waves * cycles, ctas, waves, tuple(values.items()), exact)


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


def _extrapolated(document: Document, values: dict[str, int], counts: set[str], costs: Costs | None) -> int:
    """Cycles by the plane (for two symbols: the bilinear surface) through small simulated runs."""
    axes = []
    for name, value in values.items():
        base, step = (TILES, TILES_STEP) if name in counts else (TRIPS, TRIPS_STEP)
        if value <= base + step:
            axes.append(((name, value, 1.0),))
        else:
            beyond = (value - base) / step
            axes.append(((name, base, 1 - beyond), (name, base + step, beyond)))
    total = 0.0
    for corner in product(*axes):
        weight = 1.0
        for _, _, share in corner:
            weight *= share
        total += weight * simulate(document, {name: value for name, value, _ in corner}, costs).total
    return round(total)
