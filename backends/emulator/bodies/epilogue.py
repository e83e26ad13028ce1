"""sm90.activate, sm90.add_row, sm90.add_tile: a new fragment made of one.

`add_row` adds an element of a vector to each column (argument ``coord_n``: the tile's); `add_tile` a stage of the resource,
as many columns as the fragment has; ``function`` is one of `vocabulary.ACTIVATIONS`.
"""

from __future__ import annotations

import numpy as np

from ..call import Body, Call, Fragment, View
from ..dtypes import decode

FUNCTIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def activate(call: Call) -> tuple[Fragment]:
    """The function of every value."""
    with np.errstate(invalid="ignore", over="ignore"):  # what nobody wrote is NaN, or anything
        return (_with(call, FUNCTIONS[call.parameter("function")](_fragment(call).held.data)),)


def add_row(call: Call) -> tuple[Fragment]:
    """An element of the vector is added to each column."""
    held, vector = _fragment(call).held, call.tensor()
    if vector.data.ndim != 1:
        raise call.fail(f"adds a vector; {vector.name} has {vector.data.ndim} dimensions")
    columns = call.number("coord_n") * held.width + held.left + np.arange(held.data.shape[1])
    values = decode(vector.data, vector.dtype)[np.minimum(columns, len(vector.data) - 1)]
    return (_with(call, held.data + values),)


def add_tile(call: Call) -> tuple[Fragment]:
    """A stage is added to the fragment's columns."""
    fragment = _fragment(call)
    held = fragment.held
    if not held.height:
        return (fragment,)  # never computed
    names = [dict(w.params).get("tensor") for w in call.resource.works if w.role == "producer"]
    dtype = next((t.dtype for t in call.launch.tensors.values() if t.name in names), call.launch.output.dtype)
    offset, size = call.place(View(call.resource.name, call.stage))
    stage = decode(call.memory.read(offset, size).view(dtype.storage).reshape(held.height, -1), dtype)
    data, first = held.data.copy(), fragment.subtile * stage.shape[1] - held.left
    if first < 0 or first + stage.shape[1] > data.shape[1]:
        raise call.fail(f"a stage of {call.resource.name} has {stage.shape[1]} columns, the fragment others")
    data[:, first : first + stage.shape[1]] += stage[held.rows]
    return (_with(call, data),)


def _fragment(call: Call) -> Fragment:
    fragment = call.arg("fragment")
    if not isinstance(fragment, Fragment):
        raise call.fail("argument 'fragment' is not a fragment of an accumulator")
    return fragment


def _with(call: Call, data: np.ndarray) -> Fragment:
    fragment = _fragment(call)
    return fragment._replace(held=fragment.held._replace(data=data.astype(np.float32)))


BODIES = (Body("sm90.activate", activate), Body("sm90.add_row", add_row), Body("sm90.add_tile", add_tile))
