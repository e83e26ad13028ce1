"""The asynchronous works of Blackwell's tensor core: what ends them, and which of them keep their order.

`tcgen05.mma`, `.cp` and `.shift` end with a commit to an mbarrier; `.ld` and `.st` with the waits of the warp that issued
them (PTX ISA, "tcgen05 memory consistency model"). Ops of one warp may end in another order than they were issued in,
except for the pipelined pairs of that section.
"""

from __future__ import annotations

from .document import Engine
from .program import Access

COMMITTED = (Engine.TCGEN05, Engine.TCGEN05_CP, Engine.TCGEN05_SHIFT)  # what tcgen05.commit speaks of
AWAITED = (Engine.TCGEN05_LD, Engine.TCGEN05_ST)  # what tcgen05.wait speaks of
TENSOR = (*COMMITTED, *AWAITED)
# PTX ISA, "Pipelined tcgen05 instructions": the second starts to access memory when the first is done with it.
PIPELINED = frozenset(
    (
        (Engine.TCGEN05_CP, Engine.TCGEN05),
        (Engine.TCGEN05_SHIFT, Engine.TCGEN05),
        (Engine.TCGEN05, Engine.TCGEN05_SHIFT),
        (Engine.TCGEN05_SHIFT, Engine.TCGEN05_CP),
    )
)


def in_order(first: Engine | None, x: Access, second: Engine | None, y: Access) -> bool:
    """Whether one warp's access ``x`` by engine ``first`` ends before its later ``y`` by ``second`` starts, by itself.

    wgmma: always. An MMA follows an MMA of the same accumulator. And an op that overwrites what an earlier one of the
    tensor core only reads comes after that read: kernels in the field rely on it (attention writes the scores where the MMA
    before has read the probabilities; block-scaled products copy the next scales over the last ones). PTX ISA does not list
    that pair, so verdicts name it (`core.assumptions`).
    """
    if first is second is Engine.WGMMA:
        return True
    if first not in COMMITTED or second not in COMMITTED:
        return False
    if (first, second) in PIPELINED or (y.write and not x.write):
        return True
    same = first is second is Engine.TCGEN05
    return same and x.write and y.write and x[1:4] == y[1:4]
