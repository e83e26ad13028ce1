"""The predicted cycles of `predict` against measured ones: `python benchmarks/prediction.py`; needs no GPU.

`benchmarks/gpu/cycles.json` holds what `benchmarks/gpu/cycles.py` measured. The cost table was fitted to the schedules of
`CALIBRATION`; the others are held out.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

GPU = Path(__file__).parent / "gpu"
sys.path.insert(0, str(GPU))

from cycles import documents  # noqa: E402

from warpdraft.core.simulate import predict  # noqa: E402

CALIBRATION = (
    "persistent",
    "persistent, stages 2",
    "gemm",
    "store task, 64 x 64, stages 2",
    "store task, 64 x 64, stages 8",
    "store task, 128 x 128, stages 5",
)


def rows(wanted: tuple[tuple[int, ...], ...] = ()) -> list[tuple[str, tuple[int, ...], int, int]]:
    """(schedule, sizes, measured cycles, predicted cycles), of all sizes or of those ``wanted``."""
    known = documents()
    found = []
    for row in json.loads((GPU / "cycles.json").read_text()):
        if wanted and tuple(row["sizes"]) not in wanted:
            continue
        sizes = dict(zip("MNK", row["sizes"], strict=True))
        predicted = predict(known[row["schedule"]], sizes).cycles
        found.append((row["schedule"], tuple(row["sizes"]), row["cycles"], predicted))
    return found


def ranks(values: list[float]) -> list[float]:
    """Ranks from 0; equal values share the mean of theirs."""
    order = sorted(values)
    return [(order.index(v) + len(order) - 1 - order[::-1].index(v)) / 2 for v in values]


def rank_correlation(one: list[float], other: list[float]) -> float:
    """Spearman's."""
    return statistics.correlation(ranks(one), ranks(other))


def summary(held_out: list[tuple[str, tuple[int, ...], int, int]]) -> tuple[float, float, float]:
    """Median relative error, rank correlation over all, and the least of those at one size."""
    errors = [abs(p / m - 1) for _, _, m, p in held_out]
    by_size: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for _, size, measured, predicted in held_out:
        by_size.setdefault(size, []).append((measured, predicted))
    each = [rank_correlation(*map(list, zip(*pairs, strict=True))) for pairs in by_size.values()]
    measured, predicted = ([row[i] for row in held_out] for i in (2, 3))
    return statistics.median(errors), rank_correlation(measured, predicted), min(each)


def main() -> None:
    """Print every row, then what holds of those that were held out."""
    every = rows()
    for name, size, measured, predicted in every:
        mark = " (calibration)" if name in CALIBRATION else ""
        words = " x ".join(map(str, size))
        print(f"{name:40} {words:20} {measured:12,} {predicted:12,} {predicted / measured - 1:+7.1%}{mark}")
    held_out = [row for row in every if row[0] not in CALIBRATION]
    error, rank, least = summary(held_out)
    names = {row[0] for row in held_out}
    print(f"{len(held_out)} rows of {len(names)} schedules that were held out: median error {error:.1%}, ")
    print(f"rank correlation {rank:.3f}, at one size at least {least:.3f}")


if __name__ == "__main__":
    main()
