"""sm90.store_fragment: this warp's rows of a subtile into the stage, in the output's type.

Arguments ``fragment`` and ``subtile``. The stage holds the whole height of the tile, row-major; its size says how many
columns a subtile has.
"""

from __future__ import annotations

from ..call import Body, Call, Fragment, View
from ..dtypes import encode


def run(call: Call) -> None:
    fragment = call.arg("fragment")
    if not isinstance(fragment, Fragment):
        raise call.error("is given something that is not a fragment")
    if not fragment.height:
        return  # never computed: the stage keeps what nobody wrote
    dtype = call.launch.output.dtype
    offset, size = call.place(View(call.resource.name, call.stage), call.parameter("part", ""))
    columns = size // (fragment.height * dtype.bytes)
    first = call.args.get("subtile", fragment.subtile) * columns
    if not columns or first + columns > fragment.data.shape[1]:
        raise call.error(f"stores columns {first} to {first + columns} of {fragment.data.shape[1]}")
    stored = encode(fragment.data[:, first : first + columns], dtype)
    for block in range(0, len(fragment.rows), 16):  # rows of one block follow one another in the stage
        at = offset + int(fragment.rows[block]) * columns * dtype.bytes
        call.memory.write(call.warp_name, at, stored[block : block + 16])


BODY = Body("sm90.store_fragment", run)
