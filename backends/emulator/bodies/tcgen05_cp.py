"""sm100.tcgen05_cp: the scale factors of 128 rows, 32 rows of 16 bytes, to 4 columns, the same in each quarter of the lanes.

Parameter ``source``: the part of the viewed stage (PTX ISA, tcgen05.cp, .32x128b with .warpx4).
"""

from __future__ import annotations

import numpy as np

from ... import vocabulary
from ..call import Body, Call
from ..dtypes import UE8M0


def run(call: Call) -> None:
    stored = call.matrix(call.view(), call.parameter("source"), vocabulary.SCALES, UE8M0)
    columns = call.columns(call.resource.name, call.stage, vocabulary.SCALE_COLUMNS)
    columns[:] = np.tile(np.ascontiguousarray(stored).view(np.float32), (4, 1))


BODY = Body("sm100.tcgen05_cp", run)
