"""Shared memory of one CTA, as the two proxies see it, and its tensor memory."""

from __future__ import annotations

import numpy as np

POISON = 0xFF  # a NaN in fp16, bf16 and fp32: whoever reads what nobody wrote spreads it


class SharedMemory:
    """Bytes that start as NaN.

    With ``strict`` proxies, the async proxy (bulk stores, wgmma) sees what a warp wrote only after that warp's proxy fence
    (PTX ISA, "Async proxy"); otherwise at once. What the async proxy writes, everyone sees: a bulk copy's completion
    carries an implicit fence.
    """

    def __init__(self, size: int, strict: bool) -> None:
        self._generic = np.full(size, POISON, np.uint8)
        self._async = self._generic.copy() if strict else self._generic
        self._unfenced: dict[str, list[tuple[int, int]]] = {}

    def write(self, warp: str, offset: int, stored: np.ndarray) -> None:
        """``warp`` writes ``stored`` at byte ``offset``."""
        low, high = self._put(self._generic, offset, stored)
        if self._async is not self._generic:
            self._unfenced.setdefault(warp, []).append((low, high))

    def write_async(self, offset: int, stored: np.ndarray) -> None:
        """A copy engine writes."""
        low, high = self._put(self._generic, offset, stored)
        self._async[low:high] = self._generic[low:high]

    def fence(self, warp: str) -> None:
        """What ``warp`` wrote so far becomes visible to the async proxy."""
        for low, high in self._unfenced.pop(warp, ()):
            self._async[low:high] = self._generic[low:high]

    def read(self, offset: int, size: int) -> np.ndarray:
        """``size`` bytes as a warp sees them (a copy)."""
        return self._generic[offset : offset + size].copy()

    def read_async(self, offset: int, size: int) -> np.ndarray:
        """``size`` bytes as the async proxy sees them (a copy)."""
        return self._async[offset : offset + size].copy()

    def poison(self) -> None:
        """The CTA has left: its memory belongs to somebody else."""
        self._generic[:] = POISON
        self._async[:] = POISON

    def _put(self, plane: np.ndarray, offset: int, stored: np.ndarray) -> tuple[int, int]:
        flat = np.ascontiguousarray(stored).view(np.uint8).reshape(-1)
        plane[offset : offset + flat.size] = flat
        return offset, offset + flat.size


class TensorMemory:
    """128 lanes of 32-bit columns. What nobody has written, or allocated, is NaN. ``stated``: the schedule says what is
    allocated; else all of it is."""

    LANES = 128

    def __init__(self, columns: int, stated: bool) -> None:
        self.cells = np.full((self.LANES, columns), np.nan, np.float32)
        self._owned: set[int] | None = set() if stated else None

    def copy(self) -> TensorMemory:
        """As it is now."""
        made = TensorMemory(0, False)
        made.cells, made._owned = self.cells.copy(), None if self._owned is None else self._owned.copy()
        return made

    def own(self, low: int, high: int, owned: bool) -> None:
        """Columns [low, high) are allocated, or freed: their content is gone."""
        self.cells[:, low:high] = np.nan
        if self._owned is not None:
            change = self._owned.update if owned else self._owned.difference_update
            change(range(low, high))

    def usable(self, low: int, high: int) -> bool:
        """Whether columns [low, high) may be touched now."""
        return high <= self.cells.shape[1] and (
            self._owned is None or self._owned.issuperset(range(low, high))
        )
