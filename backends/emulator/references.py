"""What a kernel should compute: its reference in NumPy, and the comparison tile by tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .bodies.epilogue import FUNCTIONS
from .dtypes import decode
from .launch import Launch
from .outcome import EmulationError, WrongTile


def gemm(inputs: list[np.ndarray]) -> np.ndarray:
    """A B^T in float32, of each matrix of a batch."""
    a, b = inputs
    return a @ b.swapaxes(-1, -2)


def copy(inputs: list[np.ndarray]) -> np.ndarray:
    """The first input."""
    return inputs[0]


def scaled_gemm(inputs: list[np.ndarray]) -> np.ndarray:
    """(scaled A) (scaled B)^T in float32; the factors lie as `vocabulary.scales` says."""
    a, b, sfa, sfb = inputs
    return scaled(a, sfa) @ scaled(b, sfb).T


def scaled(values: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """``values`` with the factor of their row and block of 32 columns.

    >>> scaled(np.ones((128, 128), np.float32), np.arange(512.0).reshape(32, 16))[33, [0, 32]].tolist()
    [20.0, 21.0]
    """
    rows, columns = values.shape
    down, deep = factors.shape[0] // 32, factors.shape[1] // 16
    tiles = factors.reshape(down, 32, deep, 4, 4).transpose(0, 3, 1, 2, 4)
    each = tiles.reshape(128 * down, 4 * deep).repeat(32, axis=1)
    return values * each[:rows, :columns]


def linear(inputs: list[np.ndarray], activation: str = "") -> np.ndarray:
    """activation(A B^T + bias)."""
    *operands, bias = inputs
    found = gemm(operands) + bias
    return FUNCTIONS[activation](found) if activation else found


def linear_residual(inputs: list[np.ndarray], activation: str = "") -> np.ndarray:
    """activation(A B^T + bias) + residual."""
    *linears, residual = inputs
    return linear(linears, activation) + residual


REFERENCES: dict[str, Callable[..., np.ndarray]] = {
    "gemm": gemm,
    "copy": copy,
    "scaled_gemm": scaled_gemm,
    "linear": linear,
    "linear_residual": linear_residual,
}


def expected(launch: Launch) -> np.ndarray:
    """The kernel's result by its stock reference; EmulationError without one."""
    name = launch.document.kernel.reference
    if name not in REFERENCES:
        raise EmulationError(f"reference {name!r} has no NumPy form; these have: {', '.join(REFERENCES)}")
    inputs = [decode(t.data, t.dtype) for t in launch.tensors.values() if t.role == "in"]
    try:
        if name.startswith("linear"):
            return REFERENCES[name](inputs, str(launch.parameters.get("activation", "")))
        return REFERENCES[name](inputs)
    except (ValueError, IndexError, KeyError) as error:
        raise EmulationError(f"reference {name} does not fit the input tensors: {error}") from None


def compare(launch: Launch, reference: np.ndarray) -> tuple[float, tuple[WrongTile, ...], int]:
    """The relative Frobenius error of the output, the tiles whose own is above the type's limit, and the number of tiles."""
    output = launch.output
    result = decode(output.data, output.dtype)
    if result.shape != reference.shape:
        raise EmulationError(f"the reference has shape {reference.shape}, {output.name} {result.shape}")
    planes = [(output.name, result, reference)]
    if result.ndim == 3:  # a batch
        planes = [
            (f"{output.name}[{i}]", *pair) for i, pair in enumerate(zip(result, reference, strict=True))
        ]
    wrong, tiles = [], 0
    for name, made, meant in planes:
        found, count = _wrong_tiles(name, made, meant, launch.tile() or made.shape, output.dtype.limit)
        wrong, tiles = wrong + found, tiles + count
    return _relative(result, reference), tuple(wrong), tiles


def _wrong_tiles(
    name: str, result: np.ndarray, reference: np.ndarray, tile: tuple[int, ...], limit: float
) -> tuple[list[WrongTile], int]:
    wrong, tiles = [], 0
    for row in range(-(-result.shape[0] // tile[0])):
        for column in range(-(-result.shape[1] // tile[1])):
            part = (
                slice(row * tile[0], (row + 1) * tile[0]),
                slice(column * tile[1], (column + 1) * tile[1]),
            )
            tiles += 1
            error = _relative(result[part], reference[part])
            if not error <= limit:
                wrong.append(WrongTile(name, row, column, error))
    return wrong, tiles


def _relative(result: np.ndarray, reference: np.ndarray) -> float:
    if not np.isfinite(result).all():
        return float("inf")
    difference = float(np.linalg.norm(result - reference))
    return difference / (float(np.linalg.norm(reference)) or 1.0)
