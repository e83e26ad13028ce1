"""What an emulated run says."""

from __future__ import annotations

from dataclasses import dataclass


class EmulationError(Exception):
    """The document cannot be emulated as asked; the message says why, for the person who asked."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A warp that can never go on: ``warp`` ("math.w3") of ``cta`` waits in ``op`` for ``what`` ("full ab[1] phase 0").

    ``owed`` is what is missing there; ``by`` who would still bring it, and where that one is stuck.
    """

    cta: int
    warp: str
    op: str
    at: tuple[tuple[str, int], ...]
    what: str
    owed: str
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = ", ".join(f"{name} {i}" for name, i in self.at)
        culprits = "; ".join(self.by) or "nobody"
        return (
            f"CTA {self.cta} {self.warp} at {self.op}{f' ({where})' if where else ''} waits {self.what}: "
            f"owed {self.owed}, by {culprits}"
        )


@dataclass(frozen=True, slots=True)
class WrongTile:
    """A tile of an output tensor that differs: tile ``row``, ``column`` of ``tensor``, with its relative error (infinite
    where something is not a number)."""

    tensor: str
    row: int
    column: int
    error: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `emulate`.

    ``verdict`` is "right", "wrong" or "deadlock"; ``relative_error`` the largest relative Frobenius error of an output
    tensor (infinite where it is not finite, or after a deadlock) and ``limit`` what its type allows. ``seed`` and ``order``
    give the same interleaving again. ``ran`` are all orders and seeds that were run, this one last.
    """

    verdict: str
    relative_error: float
    limit: float
    wrong_tiles: tuple[WrongTile, ...] = ()
    tiles: int = 0
    blocked: tuple[Blocked, ...] = ()
    steps: int = 0
    seed: int = 0
    order: str = ""
    sizes: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    ran: tuple[tuple[str, int], ...] = ()
