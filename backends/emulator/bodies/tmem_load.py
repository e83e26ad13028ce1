"""sm100.tmem_load: this warp's 32 lanes of some columns, to registers; there once the load is done.

Argument ``subtile``: which of ``subtiles`` equal parts of the accumulator's columns.
"""

from __future__ import annotations

import numpy as np

from warpdraft.core.tensor_memory import LANES, quarter

from ... import vocabulary
from ..call import Body, Call, Fragment, Registers


def start(call: Call) -> tuple[Fragment]:
    """Registers that hold nothing yet."""
    subtile = dict(call.op.args).get("subtile", 0)
    columns = call.stock(vocabulary.loaded_columns, call.resource, call.work, subtile, call.task)
    height, width, _ = call.stock(vocabulary.umma_tile, call.resource)
    first = LANES * quarter(call.task, call.warp)
    rows, data = np.arange(first, first + LANES), np.full((LANES, columns), np.nan, np.float32)
    return (Fragment(Registers(data, rows, subtile * columns, height, width), subtile, width // columns),)


def run(call: Call) -> None:
    (fragment,) = call.results
    held = fragment.held
    columns = call.columns(call.resource.name, call.stage, held.data.shape[1], held.left)
    held.data[:] = columns[held.rows]


BODY = Body("sm100.tmem_load", run, start)
