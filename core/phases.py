"""The one table of barrier semantics: how an mbarrier, a named barrier and an async group move from state to state.

Pure functions on plain values; the verifier runs them once, steppers and explorers run them in every order. Source: PTX ISA,
"Parallel Synchronization and Communication Instructions: mbarrier" (phase, expect-tx and complete-tx operations, test_wait
with parity), "barrier{.cta}", "cp.async.bulk.wait_group" and "wgmma.wait_group".
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

MAX_COUNT = (1 << 20) - 1  # PTX ISA, "Contents of the mbarrier object": counts are 1 .. 2^20 - 1
MAX_TX = (1 << 20) - 1  # the same section: the tx-count is within -(2^20 - 1) .. 2^20 - 1
FRESH = -1  # the generation that a wait on a fresh barrier means: it passes at once


class OverArrival(Exception):
    """An arrive on a barrier that has no pending arrivals left: undefined behaviour (PTX ISA, mbarrier.arrive)."""


class Phase(NamedTuple):
    """An mbarrier: its arrival ``count``, phases ``completed``, and what the open phase still needs: ``pending`` arrivals
    and ``tx`` bytes. ``tx`` may be negative inside a phase."""

    count: int
    completed: int
    pending: int
    tx: int


PHASE = partial(tuple.__new__, Phase)  # of all its fields, as they are made by the thousand


def fresh(count: int) -> Phase:
    """An mbarrier after mbarrier.init."""
    return Phase(count, 0, count, 0)


def restarted(phase: Phase) -> Phase:
    """The same barrier initialised again: its phases start anew, at parity 0. They are counted on, from an even number."""
    return Phase(phase.count, phase.completed + (phase.completed & 1), phase.count, 0)


def arrive(phase: Phase, arrivals: int = 1, nbytes: int = 0) -> Phase:
    """``arrivals`` arrivals after an expect_tx of ``nbytes``. Raises OverArrival if fewer arrivals are pending."""
    count, completed, pending, tx = phase
    pending -= arrivals
    if pending < 0:
        raise OverArrival
    tx += nbytes
    if pending == 0 and tx == 0:
        return PHASE((count, completed + 1, count, 0))
    return PHASE((count, completed, pending, tx))


def hold(phase: Phase, arrivals: int) -> Phase:
    """cp.async.mbarrier.arrive: the open phase waits for ``arrivals`` more, which its copies make when they are done."""
    return phase._replace(pending=phase.pending + arrivals)


def expect_tx(phase: Phase, nbytes: int) -> Phase:
    """The open phase waits for ``nbytes`` more. With nothing pending this may complete it (tx back at 0)."""
    return _add(phase, nbytes)


def complete_tx(phase: Phase, nbytes: int) -> Phase:
    """An engine has delivered ``nbytes``."""
    return _add(phase, -nbytes)


def _add(phase: Phase, nbytes: int) -> Phase:
    count, completed, pending, tx = phase
    tx += nbytes
    if pending == 0 and tx == 0:
        return PHASE((count, completed + 1, count, 0))
    return PHASE((count, completed, pending, tx))


def parity_of(generation: int) -> int:
    """The parity bit of a generation; the fresh barrier's is 1."""
    return generation & 1


def passes(phase: Phase, parity: int) -> bool:
    """Whether a wait on ``parity`` passes: the phase completed last has that parity. Nothing is consumed."""
    return (phase.completed - 1 - parity) & 1 == 0


class Meeting(NamedTuple):
    """A named barrier: ``completed`` generations, warps that the open one ``expects`` (0: none in), and those ``inside``."""

    completed: int = 0
    expects: int = 0
    inside: int = 0


MEETING = partial(tuple.__new__, Meeting)  # likewise


class CountMismatch(Exception):
    """Participants of one generation give different thread counts: undefined behaviour (PTX ISA, barrier{.cta})."""


def join(meeting: Meeting, warps: int, expects: int) -> Meeting:
    """``warps`` warps join the open generation, each of which wants ``expects`` warps in all.

    Raises CountMismatch where they disagree with those inside, OverArrival where fewer places are left.
    """
    completed, wanted, inside = meeting
    if inside and wanted != expects:
        raise CountMismatch
    inside += warps
    if inside > expects:
        raise OverArrival
    if inside == expects:
        return MEETING((completed + 1, 0, 0))
    return MEETING((completed, expects, inside))


def released(meeting: Meeting, generation: int) -> bool:
    """Whether a sync that joined ``generation`` may leave."""
    return meeting.completed > generation


class Pool(NamedTuple):
    """The registers of a CTA that no warp has: those that setmaxnreg gives back and takes (PTX ISA, setmaxnreg). It has no
    phases."""

    spare: int = 0
    completed: int = 0


def exchange(pool: Pool, registers: int) -> Pool:
    """``registers`` are taken from the pool (less than 0: given back). Raises ValueError where it has fewer."""
    if registers > pool.spare:
        raise ValueError("more registers than the pool has")
    return pool._replace(spare=pool.spare - registers)


class Groups(NamedTuple):
    """The async groups of one channel: ``committed`` groups so far, and ops ``open`` since the last commit."""

    committed: int = 0
    open: int = 0


def issue(groups: Groups) -> Groups:
    """An op joins the open group; it belongs to group number ``committed``."""
    return Groups(groups.committed, groups.open + 1)


def commit(groups: Groups) -> Groups:
    """Closes the open group, even an empty one. What is never committed is never waited for."""
    return Groups(groups.committed + 1, 0)


def complete_after_wait(groups: Groups, newest: int) -> int:
    """How many groups, oldest first, are complete once a wait that leaves the ``newest`` open has passed."""
    return max(0, groups.committed - newest)
