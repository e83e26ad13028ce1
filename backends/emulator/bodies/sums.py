"""sm90.zero_fragment, sm90.add_fragment: a sum of whole accumulators, kept in registers (argument ``fragment``)."""

from __future__ import annotations

import numpy as np

from ..call import Body, Call, Fragment, Registers

ZERO = Registers(
    np.zeros((0, 0), np.float32), np.arange(0), 0, 0, 0
)  # its shape is that of the first it is added


def zero(call: Call) -> None:
    """The sum is zero."""
    call.state.registers[call.resource.name, call.stage] = ZERO


def add(call: Call) -> None:
    """What is added to a sum that was never zero is unknown."""
    fragment = call.arg("fragment")
    if not isinstance(fragment, Fragment):
        raise call.fail("argument 'fragment' is not a fragment of an accumulator")
    if fragment.subtiles != 1:
        parts = fragment.subtiles or "several"
        raise call.fail(f"adds whole accumulators, not one of {parts} subtiles")
    key, held = (call.resource.name, call.stage), fragment.held
    before = call.state.registers.get(key)
    if before is ZERO or not held.height:
        data = held.data
    elif before is None or before.data.shape != held.data.shape:
        data = np.full_like(held.data, np.nan)
    else:
        with np.errstate(invalid="ignore", over="ignore"):  # what nobody wrote is NaN, or anything
            data = before.data + held.data
    call.state.registers[key] = held._replace(data=data)


BODIES = (Body("sm90.zero_fragment", zero), Body("sm90.add_fragment", add))
