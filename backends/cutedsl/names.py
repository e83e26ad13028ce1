"""One allocator for every name in a generated module."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable


class Names:
    """Hands out identifiers; a child knows its parent's names, and siblings may use the same ones."""

    def __init__(self, reserved: Iterable[str] = (), parent: Names | None = None) -> None:
        self._parent = parent
        self._taken: set[str] = set(reserved)

    def child(self) -> Names:
        """A scope inside this one."""
        return Names(parent=self)

    def taken(self, name: str) -> bool:
        """Whether ``name`` is used here or further out."""
        return name in self._taken or (self._parent is not None and self._parent.taken(name))

    def new(self, wish: str) -> str:
        """``wish`` as an identifier that nothing else uses: numbered from 2 where it is taken."""
        base = re.sub(r"\W", "_", wish) or "value"
        if base[0].isdigit() or keyword.iskeyword(base):
            base = f"_{base}"
        name, number = base, 2
        while self.taken(name):
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name
