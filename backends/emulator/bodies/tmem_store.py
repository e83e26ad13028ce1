"""sm100.tmem_store: a fragment, or zeros, to this warp's 32 lanes of some columns; there once the store is done.

Arguments ``fragment`` (none: zeros) and ``subtile``: which of ``subtiles`` equal parts of the stage's columns.
"""

from __future__ import annotations

import numpy as np

from warpdraft.core.tensor_memory import LANES, quarter

from ... import vocabulary
from ..call import Body, Call, Fragment


def run(call: Call) -> None:
    subtile = dict(call.op.args).get("subtile", 0)
    wide = call.stock(vocabulary.stored_columns, call.resource, call.work, subtile, call.task)
    first = LANES * quarter(call.task, call.warp)
    values = np.zeros((LANES, wide), np.float32)
    if "fragment" in call.args:
        fragment = call.arg("fragment")
        if not isinstance(fragment, Fragment):
            raise call.fail("argument 'fragment' is not a fragment of an accumulator")
        held = fragment.held
        if held.data.shape[1] != wide:
            raise call.fail(vocabulary.other_columns(held.data.shape[1], wide))
        values = held.data
    columns = call.columns(call.resource.name, call.stage, wide, subtile * wide)
    columns[first : first + LANES] = values


BODY = Body("sm100.tmem_store", run)
