"""Who keeps which autosave: two tabs, notebooks or servers on one file keep their unsaved changes apart.

A session claims a number of its file for the time that it lives. Within this process a table tells who holds what; of other
processes, a lock on a file of the system's temporary folder, which ends with the process that holds it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from .files import MOST_KEPT, autosave_of

try:
    from fcntl import LOCK_EX, LOCK_NB, lockf  # not flock: a child between fork and exec would hold it too
except ImportError:  # not on this system: then only the tabs of one process know of each other
    lockf = None


class Elsewhere(Exception):
    """Another process has the claim."""


@dataclass(eq=False)
class Holder:
    """One session. ``living()``: whether a person can still edit in it; ``told()`` is called when others come or go."""

    living: Callable[[], bool]
    told: Callable[[], None]
    path: Path | None = None
    number: int = 0  # 0: none yet
    lock: IO | None = field(default=None, repr=False)


class Claims:
    """The claims of all sessions of this process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holders: list[Holder] = []

    def enter(self, holder: Holder, path: Path | None) -> None:
        """``holder`` shows ``path`` from now on."""
        with self._lock:
            before = holder.path
            self._release(holder)
            holder.path = path.resolve() if path else None
            if holder not in self._holders:
                self._holders.append(holder)
        self._tell(before, holder.path)

    def leave(self, holder: Holder) -> None:
        """``holder`` has ended."""
        with self._lock:
            self._release(holder)
            if holder in self._holders:
                self._holders.remove(holder)
        self._tell(holder.path)

    def arrive(self, holder: Holder) -> None:
        """A person sees ``holder`` from now on: the others are told."""
        self._tell(holder.path)

    def number(self, holder: Holder, avoid: Collection[int] = (), wanted: int = 0) -> int:
        """The number under which ``holder`` keeps its changes: ``wanted``, else the one that it has, else the least, that is
        neither in ``avoid`` nor another's who is living. Who is not living any more loses its number."""
        with self._lock:
            assert holder.path is not None
            for number in (wanted, holder.number, *range(1, 2 * MOST_KEPT + 2)):
                if not number or number in avoid:
                    continue
                if number == holder.number:
                    return number
                owner = self._owner(holder.path, number)
                if owner is not None and owner.living():
                    continue
                try:
                    lock = owner.lock if owner is not None else _locked(holder.path, number)
                except Elsewhere:
                    continue
                if owner is not None:
                    owner.number, owner.lock = 0, None
                self._release(holder)
                holder.number, holder.lock = number, lock
                return number
            raise OSError("too many unsaved states lie beside this file: restore or discard those that are offered")

    def others(self, holder: Holder) -> int:
        """How many other tabs of this process show the same file, and whether another process does (then one more)."""
        with self._lock:
            if holder.path is None:
                return 0
            here = [h for h in self._holders if h is not holder and h.path == holder.path]
            elsewhere = any(self._elsewhere(holder.path, n) for n in range(1, MOST_KEPT + 1))
            return sum(h.living() for h in here) + elsewhere

    def kept(self, path: Path) -> bool:
        """Whether ``path``, an autosave, is that of somebody who is living."""
        with self._lock:
            return any(
                autosave_of(h.path, h.number) == path.resolve() and h.living()
                for h in self._holders
                if h.path is not None and h.number
            )

    def taken(self, holder: Holder) -> frozenset[int]:
        """The numbers that others, who are living, keep their changes under."""
        with self._lock:
            if holder.path is None:
                return frozenset()
            numbers = range(1, MOST_KEPT + 1)
            return frozenset(n for n in numbers if self._is_taken(holder, n))

    def _is_taken(self, holder: Holder, number: int) -> bool:
        owner = self._owner(holder.path, number)
        if owner is None:
            return self._elsewhere(holder.path, number)
        return owner is not holder and owner.living()

    def _owner(self, path: Path | None, number: int) -> Holder | None:
        return next((h for h in self._holders if (h.path, h.number) == (path, number)), None)

    def _elsewhere(self, path: Path | None, number: int) -> bool:
        """Whether another process holds ``number``."""
        if path is None or self._owner(path, number) or not _place(path, number).exists():
            return False
        try:
            lock = _locked(path, number)
        except Elsewhere:
            return True
        if lock is not None:
            lock.close()
        return False

    def _release(self, holder: Holder) -> None:
        if holder.lock is not None:
            holder.lock.close()
        holder.number, holder.lock = 0, None

    def _tell(self, *paths: Path | None) -> None:
        with self._lock:
            told = [h for h in self._holders if h.path is not None and h.path in paths]
        for holder in told:
            holder.told()


CLAIMS = Claims()


def _place(path: Path, number: int) -> Path:
    """The file whose lock stands for a claim."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    name = hashlib.sha256(str(autosave_of(path, number)).encode()).hexdigest()[:24]
    return Path(tempfile.gettempdir(), f"warpdraft-{user}", f"{name}.lock")


def _locked(path: Path, number: int) -> IO | None:
    """The claim's file with its lock, None where there can be none. Raises Elsewhere where another process has it."""
    if lockf is None:
        return None
    place = _place(path, number)
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
        file = place.open("a")
    except OSError:
        return None
    try:
        lockf(file, LOCK_EX | LOCK_NB)
    except OSError:
        file.close()
        raise Elsewhere from None
    return file
