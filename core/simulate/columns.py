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

    def life(self, event: Event, cta: int, allocates: bool, time: int) -> None:
        """Columns are allocated or freed."""
        for low, high in {(a.low, a.high) for a in event.accesses}:
            if allocates:
                self._open[low, high, cta] = time
            elif (since := self._open.pop((low, high, cta), None)) is not None:
                self._found.append(Columns(low, high, "", "allocated", since, time, cta))

    def flight(self, event: Event, start: int, end: int) -> None:
        """An engine works on columns that no pipeline tells the state of."""
        for name, write in {(a.resource, a.write) for a in event.accesses if a.space.startswith("tmem")}:
            resource = self._resources.get(name)
            if resource is not None and resource.pipeline is None:
                self._add(resource, event.stage, WRITES if write else READS, start, end)

    def spans(self, stages: list[Occupancy], total: int) -> tuple[Columns, ...]:
        """All of them, allocations first."""
        held = [Columns(*key[:2], "", "allocated", since, total, key[2]) for key, since in self._open.items()]
        held += [c for c in self._found if c.state == "allocated"]
        for use in stages:
            resource = self._resources.get(use.resource)
            if resource is not None and use.state != "empty":
                self._add(resource, use.stage, use.state, use.start, use.end)
        return (*sorted(held), *sorted(c for c in self._found if c.state != "allocated"))

    def _add(self, resource: Resource, stage: int, state: str, start: int, end: int) -> None:
        size = resource.storage.bytes
        low = self._offsets[resource.name] + stage * size
        self._found.append(Columns(low, low + size, f"{resource.name}[{stage}]", state, start, end))
