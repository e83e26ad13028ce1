"""What a check says: findings, fixes and the report, as data. Rendering lives in `core.report` and in the app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .edits import Edit


class Severity(StrEnum):
    """Only an error makes a schedule unsafe."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a witness: ``agent`` ("math.w3", or "math.w3/wgmma" for an engine) does ``op``, at iteration ``at``
    ("tile 1, k 2"; "" outside loops); ``text`` says what happens, e.g. "waits full[1] phase 0". ``marked``: the finding is
    about this step."""

    agent: str
    op: str
    text: str
    at: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that repair a finding; each is offered only after the edited document has been re-verified."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule. ``ops`` (the op to point at first) and ``resources`` say where; ``case`` the trip counts at which it
    shows, e.g. (("k_tiles", 5),). ``write`` makes the ``witness`` of one that a rule has just found; None in reports."""

    code: str
    name: str
    severity: Severity
    message: str
    ops: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    expected: str = ""
    actual: str = ""
    notes: tuple[str, ...] = ()
    witness: tuple[Step, ...] = ()
    case: tuple[tuple[str, int], ...] = ()
    fixes: tuple[Fix, ...] = ()
    write: Callable[[], tuple[Step, ...]] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """A rule gives the witness as what writes it (`core.run.prefix_steps`): most are never asked for."""
        if callable(self.witness):
            object.__setattr__(self, "write", self.witness)
            object.__setattr__(self, "witness", ())


@dataclass(frozen=True, slots=True)
class Scope:
    """What a verdict speaks of. ``kind``: "all" trip counts and tile sequences, "listed" ones, or "incomplete" (with the
    reason). ``trip_counts`` maps each symbol to the values tried; ``assumed`` says what the verdict takes for granted, and
    ``defaults`` names the works whose accesses nobody has stated."""

    kind: str
    trip_counts: tuple[tuple[str, tuple[int, ...]], ...] = ()
    lanes: str = "warp"
    reason: str = ""
    assumed: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `verify`: verdict "safe", "unsafe" or "incomplete", with its scope and every finding."""

    document: str
    verdict: str
    scope: Scope
    findings: tuple[Finding, ...] = ()
    events: int = 0
    seconds: float = 0.0

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that make the schedule unsafe."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)
