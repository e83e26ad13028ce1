"""WD303  stuck-register-request: a setmaxnreg increase that what the others release can never meet."""

from __future__ import annotations

from collections.abc import Iterator

from ..document import Document, Task
from ..findings import Finding
from ..occupancy import ctas_per_sm
from ..registers import STEP, entry_registers
from .base import Hazard, error, listed
from .examples import acquire, channel, commit, document, loop, release, task, wait, work
from .register_budget import GROUP, LEAST, MOST, warpgroups

CODE, NAME = "WD303", "stuck-register-request"


def check(document: Document) -> Iterator[Finding]:
    """Increases of warpgroups against the decreases of the others, which come first in the best of orders.

    A CTA has the registers that its threads start with (PTX ISA, setmaxnreg: "the per-CTA-register-pool"); a decrease never
    waits, an increase waits until the pool has enough. Every request is made when its task starts.
    """
    groups = warpgroups(document)
    threads = 32 * GROUP * len(groups)
    entry = entry_registers(threads, ctas_per_sm(document))
    raises: list[Task] = []
    needed = released = 0
    for tasks in groups.values():
        wanted = {t.num_registers for t in tasks if t.num_registers is not None}
        if any(not LEAST <= n <= MOST or n % STEP for n in wanted):
            return  # WD603
        more = max(wanted, default=entry) - entry
        needed += 32 * GROUP * max(0, more)
        released += 32 * GROUP * max(0, -more)
        raises += [t for t in tasks if more > 0 and t.num_registers and t not in raises]
    if needed > released:
        asked = listed(f"{t.name} (to {t.num_registers})" for t in raises)
        yield error(
            CODE,
            NAME,
            f"{asked} ask for {needed} registers above the {entry} that a thread starts with, but the others release "
            f"{released}: the last increase waits for ever",
            tasks=tuple(t.name for t in raises),
            expected=f"at most {released} registers more",
            actual=f"{needed} registers more",
            notes=(
                f"{threads} threads start with {entry} registers each; an increase waits until others have given back",
            ),
        )


def _ring(producer: int, consumer: int):
    return document(
        f"decreases to {producer}, increases to {consumer}",
        task("load", 0, 4, loop(acquire("x"), work("x", "fill"), commit("x")), registers=producer),
        task("use", 4, 8, loop(wait("x"), work("x", "read"), release("x")), registers=consumer),
        resources=(channel("x"),),
    )


HAZARD = Hazard(
    code=CODE,
    name=NAME,
    rule="setmaxnreg increases can be met by what other warpgroups have released.",
    why="An increase blocks the warpgroup until the CTA's pool has the registers. If the decreases leave too few, it never "
    "starts, and whoever waits for it hangs with it.",
    bad=_ring(40, 240),
    good=_ring(24, 240),
    check=check,
)
