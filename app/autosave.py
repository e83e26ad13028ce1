"""Unsaved changes, kept beside the file so that a crash or a closed tab loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warpdraft.core.document import Document
from warpdraft.core.store import DocumentError

from .claims import CLAIMS, Holder
from .files import MOST_KEPT, autosave_of
from .worker import Worker


class Autosave:
    """Writes in the background, the newest document only. ``problem`` tells why the last one could not be kept.

    ``living`` and ``told`` as for `claims.Holder`: what another living session keeps of the same file is left alone.
    """

    def __init__(
        self,
        save: Callable[[Document, Path], None],
        living: Callable[[], bool] = lambda: False,
        told: Callable[[], None] = lambda: None,
    ) -> None:
        self._save = save
        self._worker = Worker("warpdraft-autosave", linger=5.0)
        self.problem = ""
        self._offers: list[
            tuple[set[int], Document]
        ] = []  # found under these numbers; the person decides about it
        self._left: set[Path] = set()  # decided about: to be removed once the next state is on disk
        self._same: set[int] = set()  # what is found under these numbers is the document as it was opened
        self._holder = Holder(living, told)

    def enter(self, path: Path | None) -> None:
        """Another document, in ``path``: nothing is offered."""
        self._offers, self._left, self._same = [], set(), set()
        CLAIMS.enter(self._holder, path)

    def arrive(self) -> None:
        """A person sees the session from now on: others know of it, and leave its number to it."""
        if self._holder.path is not None:
            self._try_to_claim()
        CLAIMS.arrive(self._holder)

    def others(self) -> int:
        """How many others show the same file at this moment."""
        return CLAIMS.others(self._holder)

    def look(self, path: Path, document: Document, load: Callable[[Path], Document]) -> Document | None:
        """Find what was left beside ``path`` and differs from its ``document``, and give the first. Until it is decided
        about, unsaved changes go to another file."""
        self._offers, self._left, self._same = [], set(), set()
        taken = CLAIMS.taken(self._holder)
        for number in (n for n in range(1, MOST_KEPT + 1) if n not in taken):
            other = _found(autosave_of(path, number), load)
            equal = next((numbers for numbers, offer in self._offers if offer == other), None)
            if other == document:
                self._same.add(number)
            elif equal is not None:
                equal.add(number)
            elif other is not None:
                self._offers.append(({number}, other))
        if self._holder.living():
            self._try_to_claim()
        return self._first()

    def decided(self, path: Path, accept: bool) -> Document | None:
        """The person has decided about the first offer; give the next. What is accepted goes on under its number, so that
        there is one file of it at any time."""
        if self._offers:
            if self._holder.number:
                self._left.add(self._place(path))
            numbers, _ = self._offers.pop(0)
            self._left |= {autosave_of(path, number) for number in numbers}
            self._claim(min(numbers) if accept else 0)
        return self._first()

    def _first(self) -> Document | None:
        return self._offers[0][1] if self._offers else None

    def _try_to_claim(self) -> None:
        """Where there is no number left, the person is told, and an offer that is decided about gives one back."""
        try:
            self._claim()
        except OSError as error:
            self.problem = str(error)

    def _claim(self, wanted: int = 0) -> int:
        """A number under which nothing lies that somebody may still want."""
        holder, wanted = self._holder, wanted or min(self._same, default=0)
        assert holder.path is not None
        found = {n for n in range(1, 2 * MOST_KEPT + 2) if autosave_of(holder.path, n).exists()}
        offered = set().union(*(numbers for numbers, _ in self._offers))
        return CLAIMS.number(holder, (found - {wanted, holder.number}) | offered, wanted)

    def _place(self, path: Path) -> Path:
        """Where this session keeps its changes."""
        return autosave_of(path, self._holder.number or self._claim())

    def _tidy(self, *but: Path) -> None:
        while self._left:
            left = self._left.pop()
            if left not in but and not CLAIMS.kept(left):
                left.unlink(missing_ok=True)

    def keep(self, document: Document, path: Path, kept: Callable[[], None] = lambda: None) -> None:
        """Keep ``document`` as the unsaved state of ``path``; ``kept`` is called when it is on disk."""
        try:
            place = self._place(path)
        except OSError as error:
            self.problem = str(error)
            return

        def job(stale: Callable[[], bool]) -> None:
            try:
                self._save(document, place)
                self.problem = ""
                kept()
                self._tidy(place)
            except (DocumentError, OSError) as error:
                self.problem = str(error)

        self._worker.submit(job)

    def drop(self, path: Path | None, replaced: Path | None = None) -> None:
        """Forget the unsaved state of ``path``, and that of ``replaced``, another file; what is offered stays."""
        if path and not self._holder.number:
            self._try_to_claim()
        own = autosave_of(path, self._holder.number) if path and self._holder.number else None
        other = autosave_of(replaced) if replaced and replaced != path else None
        if other is not None and CLAIMS.kept(other):
            other = None  # somebody is working on it

        def job(stale: Callable[[], bool]) -> None:
            try:
                for file in filter(None, (own, other)):
                    file.unlink(missing_ok=True)
                self._tidy()
            except OSError as error:
                self.problem = str(error)

        self._worker.submit(job)

    def close(self) -> None:
        """The session has ended: what it kept stays for the next one."""
        self.wait()
        CLAIMS.leave(self._holder)

    def wait(self, timeout: float = 10.0) -> bool:
        """Wait until what was asked for is on disk."""
        return self._worker.wait(timeout)

    @staticmethod
    def read(path: Path, load: Callable[[Path], Document]) -> tuple[Document, bool]:
        """The document of ``path``, and whether it is in its file: until the first save its autosave stands for it."""
        written = path.exists() or not autosave_of(path).is_file()
        return load(path if written else autosave_of(path)), written


def _found(kept: Path, load: Callable[[Path], Document]) -> Document | None:
    """What ``kept`` holds; a broken or missing autosave is None."""
    if not kept.is_file():
        return None
    try:
        return load(kept)
    except DocumentError:
        return None
