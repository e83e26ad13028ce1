"""Writes the example documents anew from their sources: ``python -m warpdraft.assets.regenerate``."""

import importlib
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

from warpdraft.core.document import Document, Source
from warpdraft.core.store import dumps, save

FOLDER = Path(__file__).parent / "examples"


def names() -> list[str]:
    """The examples, by the names of their files."""
    return sorted(path.stem for path in FOLDER.glob("*.py"))


def capture(name: str) -> Document:
    """Example ``name`` captured from its source; its lines are given relative to the folder of the examples."""
    module = importlib.import_module(f"warpdraft.assets.examples.{name}")
    return _relative(module.build().document)


def path_of(name: str) -> Path:
    """Where the document of example ``name`` is kept."""
    return FOLDER / f"{name}.warpdraft.json"


def _relative(value: Any) -> Any:
    if isinstance(value, Source):
        return replace(value, file=Path(value.file).name)
    if isinstance(value, tuple):
        return tuple(_relative(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {name: _relative(getattr(value, name)) for name in value.__dataclass_fields__}
        return replace(value, **changed)
    return value


def main() -> None:
    """Write every document that is not as its source says."""
    for name in names():
        document, path = capture(name), path_of(name)
        if not path.exists() or path.read_text(encoding="utf-8") != dumps(document):
            save(document, path)
            print(f"wrote {path.name}")


if __name__ == "__main__":
    main()
