"""Names for everything that a schedule uses: one namespace, given names first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from .errors import ScheduleError
from .recording import CapturedLoop, CapturedNode, CapturedOp
from .resources import MemoryResource
from .synchronisation import Named


class Names:
    """The objects of a schedule in order of appearance, each with its name."""

    def __init__(self, objects: Iterable[Any]) -> None:
        self.objects = list({id(o): o for o in objects}.values())
        self._of: dict[int, str] = {}
        given = [(o, o.name) for o in self.objects if o.name]
        for thing, name in given:
            if name in self._of.values():
                raise ScheduleError(
                    f"{thing.source}: two things are called {name!r}; give each a name of its own"
                )
            self._of[id(thing)] = name
        for thing in self.objects:
            if not thing.name:
                self._of[id(thing)] = self._free(_fallback(thing))

    def __getitem__(self, thing: Any) -> str:
        return self._of[id(thing)]

    def _free(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._of.values():
            count += 1
            name = f"{wanted}_{count}"
        return name


def _fallback(thing: Any) -> str:
    if isinstance(thing, Named):
        return thing.wanted_name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(thing).__name__).lower()


def used_by(nodes: Iterable[CapturedNode]) -> Iterator[Any]:
    """The resources, barriers and groups that ``nodes`` use, in order."""
    for node in nodes:
        if isinstance(node, CapturedOp):
            if node.target is not None:
                yield node.target
            yield from (v for _, v in node.args if isinstance(v, MemoryResource | Named))
        else:
            if isinstance(node, CapturedLoop) and node.queue is not None:
                yield node.queue
            yield from used_by(node.body)
