"""`simulate`: the predicted timeline of a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..document import Document
from ..unroll import unroll
from .costs import Costs, costs_of
from .simulation import Simulation
from .timeline import Timeline
from .values import bounded, default_values, shortened

MAX_STEPS = 200_000  # steps of all warps that are simulated; about a second


def simulate(
    document: Document,
    values: Mapping[str, int] | None = None,
    costs: Costs | None = None,
    max_steps: int = MAX_STEPS,
) -> Timeline:
    """What one CTA does when, with the symbols at ``values`` (those not given: a small representative choice).

    ``costs`` None: the table of the document's target. A deadlock gives the timeline up to the stop. Trip counts that
    would need more than ``max_steps`` steps are cut, and a note says so.
    """
    wanted = {**default_values(document), **(values or {})}
    taken = bounded(document, wanted, max_steps)
    runnable, cap = shortened(document, taken, max_steps)
    cut = [f"{n} simulated at {taken[n]} instead of {wanted[n]}" for n in wanted if taken[n] != wanted[n]]
    if cap:
        cut.append(f"longer loops simulated with {cap} iterations")
    program = unroll(runnable, taken)
    timeline = Simulation(runnable, program, costs or costs_of(document), max_steps).run()
    return replace(timeline, notes=(*cut, *timeline.notes)) if cut else timeline
