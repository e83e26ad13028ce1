"""What the session calls to check, predict, generate, read and write: plain functions in one record, so that tests can
put their own in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpdraft.backends.cutedsl import export_module, lower
from warpdraft.core import store
from warpdraft.core.document import Document
from warpdraft.core.findings import Report
from warpdraft.core.simulate import simulate
from warpdraft.core.verify import verify


@dataclass(frozen=True, slots=True)
class Tools:
    """Each may raise; what `load` and `save` raise is `store.DocumentError`."""

    verify: Callable[[Document], Report] = verify
    simulate: Callable[[Document, Mapping[str, int]], Any] = simulate
    lower: Callable[[Document], str] = lower
    export: Callable[..., str] = export_module
    load: Callable[[Path], Document] = store.load
    save: Callable[[Document, Path], None] = store.save


TOOLS = Tools()
