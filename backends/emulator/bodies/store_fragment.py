"""sm90.store_fragment: this warp's rows of a subtile into the stage, in the output's type.

Argument ``fragment``. The stage holds the whole height of the tile, row-major; its size says how many columns a subtile has.
"""

from __future__ import annotations

from ..call import Body, Call, Fragment, View
from ..dtypes import encode


def run(call: Call) -> None:
    fragment = call.arg("fragment")
    if not isinstance(fragment, Fragment):
        raise call.fail("argument 'fragment' is not a fragment of an accumulator")
    held = fragment.held
    if not held.height:
        return  # never computed: the stage keeps what nobody wrote
    dtype = call.launch.output.dtype
    offset, size = call.place(View(call.resource.name, call.stage))
    if size % (held.height * dtype.bytes):
        raise call.fail(
            f"a stage of {call.resource.name} ({size} bytes) does not hold {held.height} equal rows"
        )
    columns = size // (held.height * dtype.bytes)
    first = fragment.subtile * columns
    if held.width % columns or first >= held.width or fragment.subtiles * columns not in (0, held.width):
        parts = f"{fragment.subtiles} parts" if fragment.subtiles else "parts"
        raise call.fail(
            f"subtile {fragment.subtile} of {held.width} columns, cut into {parts}, does not fit stages of {columns}"
        )
    if held.data.shape[1] < held.width and columns < held.width:
        raise call.fail("a tile whose columns are shared by warpgroups cannot be cut into subtiles")
    left = max(0, held.left - first)
    stored = encode(held.data[:, max(0, first - held.left) :][:, : columns - left], dtype)
    row_bytes = columns * dtype.bytes
    step = 16 if stored.shape[1] == columns else 1  # whole rows of one block follow one another in the stage
    for i in range(0, len(held.rows), step):
        at = offset + int(held.rows[i]) * row_bytes + left * dtype.bytes
        call.memory.write(call.warp_name, at, stored[i : i + step])


BODY = Body("sm90.store_fragment", run)
