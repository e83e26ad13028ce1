"""Which documents may be opened and where autosaves lie: only under the folder that is served, and among the examples."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

SUFFIX = ".warpdraft.json"
AUTOSAVE = ".autosave"
MOST_KEPT = 9  # states of one file that wait for a decision
_SKIPPED = {"node_modules", "build", "dist", "__pycache__", "site-packages"}
_MOST_FILES = 200  # a list longer than this helps nobody


class OutsideFolder(Exception):
    """The file is not under the served folder; the message names both."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder that the editor was started on. ``start``: the document shown first."""

    root: Path
    start: Path | None = None

    def documents(self) -> tuple[Path, ...]:
        """Every document under the folder, sorted, also those that only an autosave holds yet; then the other examples."""
        found: list[Path] = []
        for directory, folders, names in os.walk(self.root):
            folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
            here = {name.removesuffix(AUTOSAVE) for name in names}  # an autosave may stand for a file to come
            found += (Path(directory, name) for name in sorted(here) if name.endswith(SUFFIX))
            if len(found) >= _MOST_FILES:
                break
        have = {path.resolve() for path in found}
        others = (path for path in example_documents() if path.resolve() not in have)
        return (*found[:_MOST_FILES], *others)

    def label(self, path: Path) -> str:
        """What the list of documents calls ``path``."""
        if path.is_relative_to(self.root):
            return str(path.relative_to(self.root))
        return f"examples/{path.name}" if path.parent == examples() else str(path)

    def allowed(self, name: str) -> Path:
        """The path that ``name`` (as in `label`, or absolute) means; OutsideFolder where it may not be opened or saved."""
        if name.startswith("examples/") and not (self.root / name).exists():
            candidate = examples() / name.removeprefix("examples/")
        else:
            candidate = self.root / name
        path = candidate.resolve()
        inside = path.is_relative_to(self.root.resolve()) or path.is_relative_to(examples().resolve())
        if not inside and path != (self.start and self.start.resolve()):
            raise OutsideFolder(f"{name} is not under {self.root}, the folder that the editor was started on")
        return path


def examples() -> Path:
    """The folder of the examples that come with the package."""
    return Path(str(files("warpdraft.assets"))) / "examples"


def example_documents() -> tuple[Path, ...]:
    """The examples, sorted by name."""
    return tuple(sorted(examples().glob(f"*{SUFFIX}")))


def autosave_of(path: Path, number: int = 1) -> Path:
    """Where unsaved changes of ``path`` are kept; a higher ``number`` while the lower ones wait for a decision."""
    return path.with_name(path.name + AUTOSAVE + (str(number) if number > 1 else ""))


def fingerprint(path: Path | None) -> str:
    """Tells one content of a file from another; "" where there is no file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path else ""
    except OSError:
        return ""
