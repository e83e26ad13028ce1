"""Accesses that no verdict sees, since their memory is not modelled: whether an edit takes away an order between them.

Global tensors and resources without storage have no bytes of their own in an execution. Here each gets some, on a copy, so
that the race pass lists which of their ops nothing orders; an edit after which more are listed took an order away that a
kernel may rely on, though no rule asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from .document import Document, OpKind, Space
from .machine import Machine
from .run import execute
from .tree import find_resource, find_work, ops_of
from .valuations import cases

UNMODELLED = (Space.NONE, Space.GMEM)
CASES = 8  # choices of trip counts and conditions that are looked at, the smallest first
Case = tuple[Mapping[str, int], Mapping[str, Sequence[bool]]]


class Unseen:
    """The accesses of ``document`` to memory that is not modelled. Raises TimeUp (`core.limits`) past ``deadline``."""

    def __init__(self, document: Document, deadline: float | None = None) -> None:
        self._deadline = deadline
        self._written = _written(document)
        self._hidden = tuple(n for n in self._written if _read_by_others(document, n))
        self._cases: list[Case] = list(islice(cases(document), CASES)) if self._written else []
        machine = Machine(_exposed(document, self._written))
        self._before = [self._unordered(machine, case) for case in self._cases]

    def lost(self, after: Document) -> tuple[str, ...]:
        """The resources of which ``after`` may have lost an order between two accesses."""
        machine = Machine(_exposed(after, self._written))
        found = dict.fromkeys(self._hidden)
        for case, before in zip(self._cases, self._before, strict=True):
            new = self._unordered(machine, case) - before
            found.update(
                dict.fromkeys(name for _, _, *names in new for name in names if name in self._written)
            )
        return tuple(found)

    def _unordered(self, machine: Machine, case: Case) -> set[tuple[str, ...]]:
        races = execute(machine, *case, self._deadline).execution.races
        return {key[:4] for key in (*races.found, *races.unfenced)}


def _written(document: Document) -> tuple[str, ...]:
    """The resources without modelled bytes that some op of the schedule writes."""
    ops = (op for task in document.tasks for op in ops_of(task) if op.kind is OpKind.WORK)
    return tuple(dict.fromkeys(op.target for op in ops if _writes(document, op.target, op.work)))


def _writes(document: Document, name: str, work: str) -> bool:
    resource = find_resource(document, name)
    found = find_work(resource, work)
    if resource is None or found is None or found.role != "producer" or found.auxiliary:
        return False
    return resource.pipeline is None and resource.space in UNMODELLED


def _read_by_others(document: Document, name: str) -> bool:
    """Whether works of other resources read it, as the graph says: no op names that access."""
    return any(e.upstream == name and e.downstream != name for e in document.graph)


def _exposed(document: Document, names: Sequence[str]) -> Document:
    resources = tuple(
        replace(r, space=Space.SMEM, storage=None) if r.name in names else r for r in document.resources
    )
    return replace(document, resources=resources)
