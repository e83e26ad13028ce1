"""sm100.tcgen05_cp: scale factors, of 128 rows 32 rows of 16 bytes, to 4 columns, the same in each quarter of the lanes.

Parameters ``source``: the part of the viewed stage; ``rows``: 128, or 256, whose second half lies behind the first, in
shared and in tensor memory (PTX ISA, tcgen05.cp, .32x128b with .warpx4).
"""

from __future__ import annotations

import numpy as np

from ... import vocabulary
from ..call import Body, Call
from ..dtypes import UE8M0

LANES = 32  # of a quarter


def run(call: Call) -> None:
    rows = call.parameter("rows")
    shape = call.stock(vocabulary.scales, rows)
    stored = call.matrix(call.view(), call.parameter("source"), shape, UE8M0)
    columns = call.columns(call.resource.name, call.stage, vocabulary.scale_columns(rows))
    cells = np.ascontiguousarray(stored).view(np.float32)
    columns[:] = np.tile(np.hstack(np.split(cells, len(cells) // LANES)), (4, 1))


BODY = Body("sm100.tcgen05_cp", run)
