"""Which of several schedules of one product to run: the one measured fastest, or else the one predicted fastest."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, prod

from warpdraft.core.document import Document
from warpdraft.core.equality import digest
from warpdraft.core.occupancy import ctas_per_sm
from warpdraft.core.simulate import Prediction, cta_values, fastest
from warpdraft.core.simulate.waves import SMS, tile_counts

from .measurements import Measured

NEAR = 1.25  # how much longer a loop may run at a size that stands for another


@dataclass(frozen=True, slots=True)
class Choice:
    """The schedule chosen ``of`` so many. ``by``: "measurement" (at these sizes), "near measurement" (at ``measured.sizes``,
    where it has as many waves), or "prediction"."""

    document: Document
    of: int
    by: str
    predicted: Prediction | None = None
    measured: Measured | None = None


def choose(
    documents: Sequence[Document],
    sizes: Mapping[str, int],
    device: str = "",
    kept: Iterable[Measured] = (),
) -> Choice:
    """The one of ``documents`` that is done first at ``sizes`` on ``device``.

    Measurements decide where all were measured, or the one predicted fastest and some others: what they choose is then no
    worse. From near sizes times are scaled by how often each schedule's loops run. Raises what `predict` raises.
    """
    by_digest = {digest(document): document for document in reversed(documents)}
    full = {**dict(documents[0].kernel.sizes), **sizes}
    predicted: tuple[Document, Prediction] | None = None
    for at, rows in _shapes(by_digest, full, device, kept):
        with_ratio = all(row.ratio for row in rows)
        cost = {
            row.schedule: (
                1 / row.ratio if with_ratio else row.microseconds
            )  # clocks differ between processes
            * _growth(by_digest[row.schedule], at, full)
            for row in rows
        }
        best = min(rows, key=lambda row: cost[row.schedule])
        chosen = by_digest[best.schedule]
        if at != full and not _alike(chosen, at, full):
            continue
        if cost.keys() < by_digest.keys():
            predicted = predicted or fastest(documents, sizes)
            if digest(predicted[0]) not in cost:
                continue
        by = "measurement" if at == full else "near measurement"
        return Choice(chosen, len(documents), by, measured=best)
    document, cycles = predicted or fastest(documents, sizes)
    return Choice(document, len(documents), "prediction", predicted=cycles)


def _shapes(
    known: Container[str], sizes: dict[str, int], device: str, kept: Iterable[Measured]
) -> list[tuple[dict[str, int], list[Measured]]]:
    """The sizes at which these schedules were measured, those nearest to ``sizes`` first."""
    found: dict[tuple, list[Measured]] = {}
    for row in kept:
        if device and row.device == device and row.schedule in known and row.sizes.keys() == sizes.keys():
            found.setdefault(tuple(sorted(row.sizes.items())), []).append(row)

    def distance(at: tuple) -> float:
        return sum(abs(log(max(n, 1) / max(sizes[name], 1))) for name, n in at)

    return [(dict(at), found[at]) for at in sorted(found, key=distance)]


def _runs(document: Document, sizes: Mapping[str, int]) -> tuple[int, int]:
    """How many tiles one multiprocessor works on after another, and how often the other loops run in each."""
    ctas, values = cta_values(document, sizes)
    counted = tile_counts(document)
    tiles = prod(values[name] for name in counted) if counted else -(-ctas // (SMS * ctas_per_sm(document)))
    return tiles, prod(value for name, value in values.items() if name not in counted)


def _growth(document: Document, one: Mapping[str, int], two: Mapping[str, int]) -> float:
    """How much longer ``document`` works at ``two`` than at ``one``."""
    return 1.0 if one == two else prod(_runs(document, two)) / max(1, prod(_runs(document, one)))


def _alike(document: Document, one: Mapping[str, int], two: Mapping[str, int]) -> bool:
    """Whether ``document`` has as many waves at both sizes, and loops of much the same length."""
    (tiles, steps), (others, theirs) = _runs(document, one), _runs(document, two)
    return tiles == others and max(steps, theirs) <= NEAR * min(steps, theirs)
