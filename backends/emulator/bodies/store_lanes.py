"""sm100.store_fragment: the columns of this warp's lanes to their rows of the stage, in the output's type."""

from __future__ import annotations

from ..call import Body, Call, Fragment, View
from ..dtypes import encode


def run(call: Call) -> None:
    fragment = call.arg("fragment")
    if not isinstance(fragment, Fragment):
        raise call.fail("argument 'fragment' is not a fragment of an accumulator")
    held, dtype = fragment.held, call.launch.output.dtype
    offset, size = call.place(View(call.resource.name, call.stage))
    row_bytes = held.data.shape[1] * dtype.bytes
    if size != held.height * row_bytes:
        raise call.fail(
            f"a stage of {call.resource.name} ({size} bytes) does not hold the {held.height} rows of the part"
        )
    call.memory.write(call.warp_name, offset + int(held.rows[0]) * row_bytes, encode(held.data, dtype))


BODY = Body("sm100.store_fragment", run)
