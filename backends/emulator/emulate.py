"""`emulate`: a document's kernel on the CPU, at small sizes, in a chosen interleaving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from warpdraft.core.clusters import looked_at
from warpdraft.core.document import Document
from warpdraft.core.program import EventKind, Program
from warpdraft.core.unroll import unroll

from .cluster import Cluster
from .launch import SMS, prepare
from .orders import ORDERS, Order
from .outcome import EmulationError, Outcome
from .references import compare, expected

MAX_STEPS = 300_000  # of all CTAs: about ten seconds an order


def emulate(
    document: Document,
    sizes: Mapping[str, int] | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    order: str = "random",
    sms: int = SMS,
) -> Outcome:
    """Runs the kernel once and compares its output with the stock reference.

    ``sizes`` and ``parameters`` replace some of the kernel's own small sizes and parameters; ``seed`` chooses inputs and
    interleaving, ``order`` one of `ORDERS`; ``sms`` caps the CTAs of a persistent kernel. Raises EmulationError for a
    document that cannot be run here.
    """
    if order not in ORDERS:
        raise EmulationError(f"order {order!r} is unknown; there are {', '.join(ORDERS)}")
    launch = prepare(document, sizes, parameters, seed, sms)
    reference = expected(launch)
    steps, notes, blocked = 0, {}, ()
    programs: dict[tuple[tuple[str, int], ...], Program] = {}
    together = looked_at(document)  # CTAs of one program: the cluster's, or one where none reaches another
    for first in range(0, launch.grid, together):
        values = launch.trip_counts(first)
        key = tuple(sorted(values.items()))
        program = programs.get(key) or programs.setdefault(
            key, _program(document, values, launch.grid // together)
        )
        number = first // together + seed
        chosen = Order(order, seed * 1000 + first, len(program.streams), _set_up(program, number))
        cluster = Cluster(launch, program, values, first, chosen)
        blocked = cluster.run()
        steps += cluster.steps
        notes |= cluster.notes
        if blocked:
            break
    common = {
        "steps": steps,
        "seed": seed,
        "order": order,
        "sizes": tuple(launch.sizes.items()),
        "notes": tuple(notes),
        "ran": ((order, seed),),
    }
    limit = launch.output.dtype.limit
    if blocked:
        return Outcome("deadlock", float("inf"), limit, blocked=blocked, **common)
    error, wrong, tiles = compare(launch, reference)
    return Outcome("wrong" if wrong else "right", error, limit, wrong, tiles, **common)


def emulate_all(
    document: Document,
    sizes: Mapping[str, int] | None = None,
    parameters: Mapping[str, Any] | None = None,
    seeds: int = 1,
) -> Outcome:
    """Runs every order with ``seeds`` seeds each; the first outcome that is not right, else the last one."""
    if seeds < 1:
        raise EmulationError(f"{seeds} seeds are none: nothing would run")
    ran: list[tuple[str, int]] = []
    for seed in range(seeds):
        for order in ORDERS:
            outcome = emulate(document, sizes, parameters, seed, order)
            ran.append((order, seed))
            if outcome.verdict != "right":
                return replace(outcome, ran=tuple(ran))
    return replace(outcome, ran=tuple(ran))


def _set_up(program: Program, turn: int) -> list[int]:
    """The warps that allocate tensor memory, by CTA; which CTA is the last changes with ``turn``."""
    ctas = 1 + max((s.cta for s in program.streams), default=0)
    found = [
        (-((s.cta + turn) % ctas), index)
        for index, s in enumerate(program.streams)
        if any(e.kind is EventKind.TMEM_ALLOC for e in s.events)
    ]
    return [index for _, index in sorted(found)]


def _program(document: Document, values: dict[str, int], clusters: int) -> Program:
    program = unroll(document, values)
    if program.events * clusters > MAX_STEPS:
        raise EmulationError(
            f"these sizes make {program.events * clusters} steps; at most {MAX_STEPS} are emulated: choose smaller ones"
        )
    return program
