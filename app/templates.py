"""What a new document may start from: nothing, or a copy of an example that verifies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warpdraft.core.document import Document
from warpdraft.core.store import load

from .files import SUFFIX, Folder, autosave_of, examples


@dataclass(frozen=True, slots=True)
class Template:
    """``file``: the example that is copied, "" for an empty document called ``name``."""

    key: str
    name: str
    title: str
    about: str
    file: str = ""

    def document(self) -> Document:
        """A fresh copy."""
        return load(examples() / f"{self.file}{SUFFIX}") if self.file else Document(self.name)


TEMPLATES = (
    Template("empty", "untitled", "Empty", "no tasks and no resources yet"),
    Template("copy", "tma_copy", "Copy", "TMA in, TMA out, one ring between two warps", "tma_copy"),
    Template("gemm", "gemm", "GEMM", "one tile a CTA, two CTAs an SM: a load warp, a math warpgroup", "gemm"),
    Template(
        "persistent_gemm",
        "persistent_gemm",
        "Persistent GEMM",
        "the same with a tile queue: loads run ahead into the next tile",
        "persistent_gemm",
    ),
    Template(
        "ping_pong",
        "ping_pong",
        "Ping-pong GEMM",
        "two math warpgroups in turn: one stores while the other multiplies (a schedule only)",
        "ping_pong",
    ),
    Template(
        "attention",
        "attention",
        "Attention",
        "rings of K and V, two warpgroups whose softmax hides behind the other's wgmma (a schedule only)",
        "attention",
    ),
)


def template(key: str) -> Template:
    """The template of that key; KeyError without one."""
    return {each.key: each for each in TEMPLATES}[key]


def templates_view() -> list[dict[str, str]]:
    """What the page lists."""
    return [
        {"group": "Start from", "key": t.key, "label": f"{t.title}: {t.about}", "template": t.key}
        for t in TEMPLATES
    ]


def fresh_path(folder: Folder, name: str) -> Path:
    """A file of that name in the folder, with a number where it, or unsaved work on it, is already there."""
    number = 1
    while True:
        path = folder.root / f"{name if number == 1 else f'{name}_{number}'}{SUFFIX}"
        if not path.exists() and not autosave_of(path).exists():
            return path
        number += 1
