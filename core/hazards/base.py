"""What a rule is: one frozen record with its two examples and its detectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..document import Document
from ..findings import Finding, Fix, Severity
from ..run import Run
from .study import Study
from .trace import Trace


def no_document_check(document: Document) -> Iterable[Finding]:
    """The detector of rules that need an execution."""
    return ()


def no_run_check(run: Run) -> Iterable[Finding]:
    """The detector of rules that need only the document."""
    return ()


def no_trace_check(trace: Trace) -> Iterable[Finding]:
    """The detector of rules that need no walk along a warp's path."""
    return ()


def no_advice(study: Study) -> Iterable[Finding]:
    """The advice of rules that say what is wrong."""
    return ()


def no_fix(document: Document, finding: Finding) -> Iterable[Fix]:
    """The fixes of rules whose repair needs a decision that only the author can make."""
    return ()


@dataclass(frozen=True, slots=True)
class Hazard:
    """A rule: ``rule`` in one line, ``why`` it hurts on hardware, a ``bad`` schedule and its repair ``good``.

    ``check`` reads the document once, ``follow`` what each warp does in its order, ``examine`` one execution of all;
    ``advise`` tries changes of a safe document (`core.advice`), never part of a check;
    ``repair`` proposes fixes of a finding, offered only after the edited document has been verified again.
    ``strict_lanes``: only looked for where lanes of a warp may drift apart.
    """

    code: str
    name: str
    rule: str
    why: str
    bad: Document
    good: Document
    check: Callable[[Document], Iterable[Finding]] = no_document_check
    follow: Callable[[Trace], Iterable[Finding]] = no_trace_check
    examine: Callable[[Run], Iterable[Finding]] = no_run_check
    advise: Callable[[Study], Iterable[Finding]] = no_advice
    repair: Callable[[Document, Finding], Iterable[Fix]] = no_fix
    strict_lanes: bool = False


def error(code: str, name: str, message: str, **fields: Any) -> Finding:
    """A finding that makes the schedule unsafe."""
    return Finding(code, name, Severity.ERROR, message, **fields)


def warning(code: str, name: str, message: str, **fields: Any) -> Finding:
    """A finding that does not."""
    return Finding(code, name, Severity.WARNING, message, **fields)


def advice(code: str, name: str, message: str, **fields: Any) -> Finding:
    """A finding on a schedule that is right."""
    return Finding(code, name, Severity.ADVICE, message, **fields)


def unique(items: Iterable[str]) -> tuple[str, ...]:
    """``items`` once each, in order, without empty ones."""
    return tuple(dict.fromkeys(item for item in items if item))


def plural(count: int, noun: str) -> str:
    """ "1 arrival", "2 arrivals"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(items: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    items = list(items)
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
