"""CTAs of a cluster in generated code: what differs from rank to rank, as an expression over ``rank``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from warpdraft.core.clusters import cluster_layout, cluster_size
from warpdraft.core.document import Document

from .errors import LoweringError
from .syntax import Expression, binary, compare, expression

RANK = "rank"  # the variable with the CTA's rank in its cluster
Sets = Sequence[Sequence[int]]  # by rank, the CTAs that are reached


@dataclass(frozen=True, slots=True)
class Cluster:
    """``size`` CTAs that work on ``down`` x ``across`` neighbouring tiles (a pair lies along M); ranks go down first."""

    size: int
    down: int
    across: int

    @classmethod
    def of(cls, document: Document) -> Cluster:
        """The cluster of ``document``. Raises LoweringError for one along K: nothing adds up its parts."""
        pairs, m, n, k = cluster_layout(document)
        if k > 1:
            raise LoweringError(f"clusters along K are not lowered: the document has {document.cluster}")
        return cls(cluster_size(document), pairs * m, n)

    @property
    def row(self) -> Expression:
        """The CTA's place along M."""
        if self.down == 1:
            return expression(0)
        return binary(RANK, "%", self.down) if self.across > 1 else expression(RANK)

    @property
    def column(self) -> Expression:
        """The CTA's place along N."""
        return binary(RANK, "//", self.down) if self.across > 1 else expression(0)

    def alone(self, sets: Sets) -> bool:
        """Whether each CTA reaches just itself."""
        return all(tuple(reached) == (rank,) for rank, reached in enumerate(sets))

    def mask(self, sets: Sets, op: str) -> Expression:
        """The reached CTAs as bits of an integer: a constant, or one shifted by the CTA's place. Raises LoweringError."""
        masks = [sum(1 << cta for cta in reached) for reached in sets]
        lowest = binary(self.column, "*", self.down)  # rank of the CTA's column
        shifts = {0: None, 1: self.row, 2: lowest, 3: expression(RANK)}
        places = [(0, r % self.down, r // self.down * self.down, r) for r in range(self.size)]
        for which, shift in shifts.items():
            base = masks[0] >> places[0][which]
            if all(base << places[rank][which] == mask for rank, mask in enumerate(masks)):
                return expression(base) if shift is None else binary(base, "<<", shift)
        column, row = (1 << self.down) - 1, sum(1 << self.down * i for i in range(self.across))
        if all(
            column << first | row << down == mask
            for (_, down, first, _), mask in zip(places, masks, strict=True)
        ):
            return binary(binary(column, "<<", lowest), "|", binary(row, "<<", self.row))
        raise LoweringError("reaches other CTAs of the cluster in a way that no stock form has", op)

    def only(self, flags: Sequence[bool], op: str) -> Expression | None:
        """The condition under which a CTA is one of those flagged; None where all are. Raises LoweringError."""
        if all(flags):
            return None
        if list(flags) == [rank == 0 for rank in range(self.size)]:
            return compare(RANK, "==", 0)
        if list(flags) == [rank % 2 == 0 for rank in range(self.size)]:
            return compare(binary(RANK, "%", 2), "==", 0)
        raise LoweringError("is for some CTAs of the cluster: no stock form tells them apart", op)

    def number(self, numbers: Sequence[int], op: str) -> Expression:
        """A number that follows from the CTA's place. Raises LoweringError where none of the usual ones does."""
        for value, of in (
            (expression(0), lambda rank: 0),
            (self.row, lambda rank: rank % self.down),
            (self.column, lambda rank: rank // self.down),
            (expression(RANK), lambda rank: rank),
        ):
            if all(of(rank) == number for rank, number in enumerate(numbers)):
                return value
        raise LoweringError(f"the CTAs' parts of a copy are numbered {tuple(numbers)}: no stock form", op)
