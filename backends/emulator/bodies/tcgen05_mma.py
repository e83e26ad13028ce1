"""sm100.tcgen05_mma: columns of tensor memory += A B^T, operands from the viewed stage, read when the instruction completes.

Parameters: ``a``, ``b`` (parts of the stage, or arguments whose views are whole tiles), ``tile`` (m, n, k), ``overwrite``
("first_iter": the first iteration of the domain loop overwrites the accumulator). Row i of the tile is in lane i, column j
in column j of the stage (PTX ISA, tcgen05 data path layouts: M = 128 by one CTA, M = 256 by a pair). ``cta_group`` 2: the
pair holds B in halves, and each CTA has its own rows of A.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import vocabulary
from ..call import Body, Call
from .operands import operand, overwrites


def run(call: Call) -> None:
    m, n, k = tile = call.parameter("tile")
    group = call.parameter("cta_group")
    call.stock(vocabulary.check_umma, tile, group)
    if group > max(1, len(call.pair)):
        raise call.fail("cta_group is 2, and the cluster has no pairs of CTAs")
    members = [call] if group == 1 else [replace(call, memory=s, tensor_memory=t) for s, t in call.pair]
    b = np.concatenate([operand(member, "b", (n // group, k)) for member in members])
    for member in members:
        columns = member.columns(call.resource.name, call.stage, n)
        with np.errstate(invalid="ignore", over="ignore"):  # what nobody wrote is NaN, or anything
            product = operand(member, "a", (m, k)) @ b.T
            columns[:] = product if overwrites(call) else columns + product


BODY = Body("sm100.tcgen05_mma", run)
