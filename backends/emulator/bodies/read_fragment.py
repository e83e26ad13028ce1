"""sm90.read_fragment: this warp's part of the accumulator, as it is now; ``subtile`` says which columns are meant."""

from __future__ import annotations

import numpy as np

from ..call import Body, Call, Fragment, Registers

UNKNOWN = Registers(np.full((0, 0), np.nan, np.float32), np.arange(0), 0, 0, 0)  # nothing was ever computed


def run(call: Call) -> tuple[Fragment]:
    held = call.state.registers.get((call.resource.name, call.stage), UNKNOWN)
    subtile, subtiles = dict(call.op.args).get("subtile", 0), call.parameter("subtiles") or 0
    if type(subtile) is not int or subtile < 0 or (subtiles and subtile >= subtiles):
        allowed = f"from 0 to {subtiles - 1}" if subtiles else "from 0"
        raise call.fail(f"subtile must be a constant {allowed}, not {subtile!r}")
    if subtiles and held.height and (held.width % subtiles or held.width // subtiles % 16):
        raise call.fail(f"{held.width} columns cannot be cut as asked (subtiles of a multiple of 16 columns)")
    return (Fragment(held._replace(data=held.data.copy()), subtile, subtiles),)


BODY = Body("sm90.read_fragment", run)
