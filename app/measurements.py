"""How long kernels took on devices: a small file of measurements in the user's cache, and one that comes with the package.

Each says which device ran which schedule (`core.equality.digest`) at which sizes, and when. What the user measured counts
before what came along. The file is JSON; it is written whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import warpdraft.assets
from warpdraft.core.document import Document
from warpdraft.core.equality import digest
from warpdraft.core.store import write_whole

if TYPE_CHECKING:
    from warpdraft.backends.cutedsl import Measurement

VERSION = 1
SHIPPED = Path(warpdraft.assets.__file__).with_name("measurements.json")


class CacheError(ValueError):
    """A file of measurements that cannot be read or written; the message is one line."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One kernel on one device. ``schedule``: its digest; ``layout``: for each tensor what is contiguous, as "a: K, b: K";
    ``ratio``: the library's time in the same process by ``microseconds`` (1.0: as fast), None where there is no call."""

    device: str
    dtype: str
    layout: str
    sizes: dict[str, int]
    schedule: str
    name: str
    microseconds: float
    ratio: float | None
    date: str
    version: str

    @property
    def key(self) -> tuple:
        """What a later measurement takes the place of."""
        return self.device, self.schedule, tuple(sorted(self.sizes.items()))


def measured(document: Document, found: Measurement) -> Measured:
    """``found`` of a run of ``document``, as it is kept."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        package = version("warpdraft")
    except PackageNotFoundError:
        package = ""
    return Measured(
        device=found.device,
        dtype=found.dtype,
        layout=layout(document),
        sizes=dict(found.sizes),
        schedule=digest(document),
        name=document.name,
        microseconds=round(found.seconds * 1e6, 3),
        ratio=None if found.ratio is None else round(found.ratio, 4),
        date=datetime.now(UTC).date().isoformat(),
        version=package,
    )


def layout(document: Document) -> str:
    """What is contiguous in each tensor of more than one dimension."""
    tensors = document.kernel.tensors if document.kernel else ()
    return ", ".join(f"{t.name}: {t.shape[t.order[-1]]}" for t in tensors if len(t.shape) > 1)


def user_file() -> Path:
    """The file in the user's cache (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return folder / "warpdraft" / "measurements.json"


def kept() -> tuple[Measured, ...]:
    """All measurements, one for each device, schedule and sizes. Raises CacheError."""
    own = user_file()
    everything = [*read(SHIPPED), *(read(own) if own.exists() else ())]
    return tuple({m.key: m for m in everything}.values())


def keep(found: Iterable[Measured]) -> Path:
    """Adds ``found`` to the user's file, which it gives. Raises CacheError."""
    path = user_file()
    everything = {m.key: m for m in (*(read(path) if path.exists() else ()), *found)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(os.path.realpath(path), dumps(everything.values()))
    except OSError as error:
        raise CacheError(f"{path}: cannot be written: {error.strerror or error}") from None
    return path


def dumps(found: Iterable[Measured]) -> str:
    """A file of ``found``, one in a line."""
    lines = ",\n".join(f"    {json.dumps(asdict(m))}" for m in found)
    return f'{{\n  "version": {VERSION},\n  "measurements": [\n{lines}\n  ]\n}}\n'


def read(path: Path) -> tuple[Measured, ...]:
    """The measurements in a file. Raises CacheError."""
    advice = "repair it, or delete it to begin anew"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CacheError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except json.JSONDecodeError as error:
        raise CacheError(f"{path}: line {error.lineno}: not JSON ({error.msg}); {advice}") from None
    version = content.get("version") if isinstance(content, dict) else None
    if version != VERSION:
        raise CacheError(f"{path}: no file of measurements of version {VERSION}; {advice}")
    rows = content.get("measurements")
    if not isinstance(rows, list):
        raise CacheError(f"{path}: measurements: not a list; {advice}")
    for number, row in enumerate(rows):
        if problem := _problem(row):
            raise CacheError(f"{path}: measurements[{number}]: {problem}; {advice}")
    return tuple(Measured(**row) for row in rows)


def _problem(row: object) -> str:
    """What keeps ``row`` from being a measurement; "" for nothing."""
    names = {f.name for f in fields(Measured)}
    if not isinstance(row, dict) or row.keys() != names:
        return f"not an object of {', '.join(sorted(names))}"
    numbers, texts = (row["microseconds"], row["ratio"]), names - {"sizes", "microseconds", "ratio"}
    if any(not isinstance(row[name], str) for name in texts):
        return f"{', '.join(sorted(texts))} must be texts"
    if not isinstance(row["sizes"], dict) or any(type(n) is not int for n in row["sizes"].values()):
        return "sizes must be integers by name"
    if not all(_positive(n) for n in numbers if n is not row["ratio"] or n is not None):
        return "microseconds and ratio must be positive numbers"
    return ""


def _positive(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 < number < float("inf")
