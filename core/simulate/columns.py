"""What lies in which columns of tensor memory when: allocations, and under them the stages and copies that use them."""

from __future__ import annotations

from ..document import Document, Resource, Space
from ..layout import layout
from ..program import Event
from .timeline import Columns, Occupancy

WRITES, READS = "filling", "reading"


class ColumnRecorder:
    """Collects spans while the simulation runs; `spans` gives them at its end."""

    def __init__(self, document: Document) -> None:
        self._resources = {r.name: r for r in document.resources if r.space is Space.TMEM and r.storage}
        self._offsets = layout(document).offsets
        self._open: dict[tuple[int, int, int], int] = {}  # columns and CTA -> cycle of their allocation
        self._found: list[Columns] = []
        self._ctas: dict[str, set[int]] = {}  # resource -> CTAs in whose columns an engine has worked on it

    def life(self, event: Event, cta: int, allocates: bool, time: int) -> None:
        """Columns are allocated or freed."""
        for low, high in {(a.low, a.high) for a in event.accesses}:
            if allocates:
                self._open[low, high, cta] = time
            elif (since := self._open.pop((low, high, cta), None)) is not None:
                self._found.append(Columns(low, high, "", "allocated", since, time, cta))

    def flight(self, event: Event, start: int, end: int) -> None:
        """An engine works on columns: where no pipeline tells their state, this does."""
        used = {(a.resource, a.write, a.cta) for a in event.accesses if a.space.startswith(Space.TMEM)}
        for name, write, cta in used:
            resource = self._resources.get(name)
            if resource is None:
                continue
            self._ctas.setdefault(name, set()).add(cta)
            if resource.pipeline is None:
                self._add(resource, event.stage, WRITES if write else READS, start, end, cta)

    def spans(self, stages: list[Occupancy], total: int) -> tuple[Columns, ...]:
        """All of them, allocations first. ``stages`` are those of CTA 0; the others of its cluster are in step."""
        held = [Columns(*key[:2], "", "allocated", since, total, key[2]) for key, since in self._open.items()]
        held += [c for c in self._found if c.state == "allocated"]
        for use in stages:
            resource = self._resources.get(use.resource)
            if resource is not None and use.state != "empty":
                for cta in self._ctas.get(use.resource, {0}):
                    self._add(resource, use.stage, use.state, use.start, use.end, cta)
        return (*sorted(held), *sorted(c for c in self._found if c.state != "allocated"))

    def _add(self, resource: Resource, stage: int, state: str, start: int, end: int, cta: int) -> None:
        size = resource.storage.bytes
        low = self._offsets[resource.name] + stage * size
        self._found.append(Columns(low, low + size, f"{resource.name}[{stage}]", state, start, end, cta))
