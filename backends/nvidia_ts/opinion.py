"""What Task Scheduling's own check says of a manager, beside what ours says, and why they differ."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warpdraft.core.findings import Report, Severity

from .version import task_scheduling

ACCEPTED, REJECTED, GAVE_UP = "accepted", "rejected", "gave up"


@dataclass(frozen=True, slots=True)
class Opinion:
    """Task Scheduling's ``verdict``: "accepted", "rejected" (``reason``: its first line, with the one behind where that says
    what is wrong), or "gave up": it stopped at its limit of states and found nothing so far, which it prints as safe.
    ``states`` that its search visited, 0 where it never came to search; ``seconds`` of CPU time."""

    verdict: str
    reason: str = ""
    states: int = 0
    seconds: float = 0.0


def opinion_of(manager: Any, check: Callable[[Any], None]) -> Opinion:
    """What ``check``, its own `TaskManager.print_and_verify`, says of ``manager``."""
    checker, states, gave_up = task_scheduling().checker, [], []
    search = checker.check_all_interleavings

    def watched(*args: Any, **options: Any) -> Any:
        result = search(*args, **options)
        states.append(int(result.states_explored))
        gave_up.append(bool(result.hit_state_limit))
        return result

    checker.check_all_interleavings = watched
    start, reason = time.process_time(), ""
    try:
        check(manager)
    except Exception as error:  # its checks raise ValueError, RuntimeError, AssertionError and KeyError
        first, *more = [line.strip() for line in str(error).splitlines() if line.strip()] or [
            type(error).__name__
        ]
        reason = " ".join((first, *more[: first.endswith(("!", ":"))]))  # else what is wrong stands behind it
    finally:
        checker.check_all_interleavings = search
    verdict = REJECTED if reason else GAVE_UP if any(gave_up) else ACCEPTED
    return Opinion(verdict, reason, sum(states), round(time.process_time() - start, 3))


def difference(report: Report, opinion: Opinion, symbols: tuple[str, ...]) -> str:
    """Why ``report`` and ``opinion`` differ, in words; "" where they agree."""
    ours = report.errors[0] if report.errors else None
    if opinion.verdict == REJECTED:
        if ours is not None:
            return ""
        warned = ", ".join(
            dict.fromkeys(f"{f.code} {f.name}" for f in report.findings if f.severity is Severity.WARNING)
        )
        also = f"; {warned} only warns" if warned else ""
        return f"it rejects; here every order of the warps was decided, and none goes wrong{also}"
    if ours is None:
        undecided = "its search was not finished" if opinion.verdict == GAVE_UP else ""
        return (
            "" if report.verdict == "safe" and not undecided else undecided or "here something is not decided"
        )
    case = ", ".join(f"{name} = {value}" for name, value in ours.case)
    notes = [f"here {ours.code} {ours.name} is found{f' at {case}' if case else ''}"]
    if opinion.verdict == GAVE_UP:
        notes.append("its search ended before it came there")
    elif any(name in symbols for name, _ in ours.case):
        notes.append("it tries one trip count for each loop that is bounded at run time")
    return "; ".join(notes)
