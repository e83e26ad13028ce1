"""Unsaved changes, kept beside the file so that a crash or a closed tab loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warpdraft.core.document import Document
from warpdraft.core.store import DocumentError

from .files import autosave_of
from .worker import Worker


class Autosave:
    """Writes in the background, the newest document only. ``problem`` tells why the last one could not be kept."""

    def __init__(self, save: Callable[[Document, Path], None]) -> None:
        self._save = save
        self._worker = Worker("warpdraft-autosave", linger=5.0)
        self.problem = ""

    def keep(self, document: Document, path: Path, kept: Callable[[], None] = lambda: None) -> None:
        """Keep ``document`` as the unsaved state of ``path``; ``kept`` is called when it is on disk."""

        def job(stale: Callable[[], bool]) -> None:
            try:
                self._save(document, autosave_of(path))
                self.problem = ""
                kept()
            except DocumentError as error:
                self.problem = str(error)

        self._worker.submit(job)

    def drop(self, *paths: Path | None) -> None:
        """Forget the unsaved state of ``paths``."""

        def job(stale: Callable[[], bool]) -> None:
            try:
                for path in filter(None, paths):
                    autosave_of(path).unlink(missing_ok=True)
            except OSError as error:
                self.problem = str(error)

        self._worker.submit(job)

    def wait(self, timeout: float = 10.0) -> bool:
        """Wait until what was asked for is on disk."""
        return self._worker.wait(timeout)

    @staticmethod
    def read(path: Path, load: Callable[[Path], Document]) -> tuple[Document, bool]:
        """The document of ``path``, and whether it is in its file: until the first save its autosave stands for it."""
        written = path.exists() or not autosave_of(path).is_file()
        return load(path if written else autosave_of(path)), written

    @staticmethod
    def found(path: Path, document: Document, load: Callable[[Path], Document]) -> Document | None:
        """What was left beside ``path`` and differs from its ``document``; a broken or missing autosave is None."""
        kept = autosave_of(path)
        if not kept.is_file():
            return None
        try:
            other = load(kept)
        except DocumentError:
            return None
        return other if other != document else None
