"""Which findings only follow from another one: a mistake is one row, not one for each way in which it shows.

A rule's consequences are looked for on its own resources. Of the deadlocks that a root cause makes one row stays, which
says where it hangs. The root cause names what is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from .describe import phase
from .document import Document, Op, OpKind
from .findings import Finding, Severity
from .tree import ops_of

WRITTEN = "WD204 of a written parity"
UNCLOSED = "WD105 of a stage that nobody commits"
PHASES = ("WD204", WRITTEN, "WD205", "WD206", "WD219")
DEADLOCKS = ("WD301", "WD302")
# root cause -> what follows from it, on the same resources
FOLLOWS: dict[str, tuple[str, ...]] = {
    "WD105": ("WD204", "WD210"),
    UNCLOSED: (*PHASES, "WD203", "WD207", "WD210", "WD401", "WD409"),  # every use is of one stage
    "WD110": ("WD106", "WD401", "WD402", "WD403"),  # it may be a view of a stage given back
    "WD114": (*PHASES, "WD410", "WD411"),  # on tiles that one side skips
    "WD201": (*PHASES, "WD210"),
    "WD203": (*PHASES, "WD210"),
    "WD208": ("WD206",),
    "WD209": ("WD206",),
    "WD217": ("WD204", "WD210"),
    "WD218": (*PHASES, "WD210"),
    "WD221": ("WD201", *PHASES, "WD210"),  # it says which arrivals count how
    "WD704": ("WD203", "WD703"),  # of a copy that one CTA makes, or waits for, and the other does not
    "WD705": (*PHASES, "WD210", "WD409"),  # who is not counted can be lapped
    WRITTEN: ("WD205", "WD206", "WD210", "WD219", "WD409"),
    "WD205": ("WD204", "WD210", "WD219"),
    "WD206": ("WD204", "WD210", "WD219"),
    "WD301": ("WD210 warning",),
    "WD302": ("WD210 warning", "WD409"),  # nobody takes what is copied
    "WD210": ("WD210 warning",),
}
HANG = (
    *(rule for rule in FOLLOWS if rule not in (*DEADLOCKS, "WD210")),
    "WD113",
    "WD207",
    "WD220",
)
FRESH = phase(-1)
NAMED = 3  # codes that a note names


def folded(document: Document, rows: Sequence[Finding]) -> list[Finding]:
    """``rows``, in their order, without those that follow from another one."""
    ops = {op.id: op for task in document.tasks for op in ops_of(task)}
    rules = [_rule(f, ops) for f in rows]
    causes = _causes(rows, rules)
    causes |= _hangs(rows, rules, [i for i in range(len(rows)) if i not in causes])
    return [
        _naming(f, [rows[k] for k in causes if i in causes[k]]) for i, f in enumerate(rows) if i not in causes
    ]


def _causes(rows: Sequence[Finding], rules: Sequence[str]) -> dict[int, list[int]]:
    """The places of rows that follow from others, with the places of those."""
    found = {
        i: [
            k
            for k, root in enumerate(rows)
            if k != i and root.severity is Severity.ERROR and _follows(rules[k], rules[i], root, finding)
        ]
        for i, finding in enumerate(rows)
    }
    return {i: roots for i, roots in found.items() if roots}


def _hangs(rows: Sequence[Finding], rules: Sequence[str], kept: Sequence[int]) -> dict[int, list[int]]:
    """Deadlocks behind a root cause, apart from one for each: a cycle before a starved wait."""
    roots = [i for i in kept if rules[i] in HANG and rows[i].severity is Severity.ERROR]
    behind = {i: [k for k in roots if _related(rows[k], rows[i])] for i in kept if rules[i] in DEADLOCKS}
    shown = {
        min(hanging)[1]
        for k in roots
        if (hanging := [(rules[i], i) for i, found in behind.items() if k in found])
    }
    return {i: found for i, found in behind.items() if found and i not in shown}


def _rule(finding: Finding, ops: Mapping[str, Op]) -> str:
    if finding.code == "WD210" and finding.severity is not Severity.ERROR:
        return "WD210 warning"
    op = ops.get(finding.ops[0]) if finding.ops else None
    if finding.code == "WD204" and op and op.kind is OpKind.MBARRIER_WAIT and op.count is not None:
        return WRITTEN
    if finding.code == "WD105" and op and op.kind is OpKind.ACQUIRE and not _committed(op.target, ops):
        return UNCLOSED
    return finding.code


def _committed(resource: str, ops: Mapping[str, Op]) -> bool:
    return any(op.kind is OpKind.COMMIT and op.target == resource for op in ops.values())


def _follows(rule: str, other: str, root: Finding, finding: Finding) -> bool:
    follow = FOLLOWS.get(rule, ())
    if (rule, other) == (WRITTEN, "WD205") and root.ops[:1] == finding.ops[:1] and FRESH in finding.message:
        return (
            False  # of one wait: either its parity is wrong, or it means the fresh barrier and comes too late
        )
    return (other in follow or other.removesuffix(" warning") in follow) and _related(root, finding)


def _related(root: Finding, finding: Finding) -> bool:
    """Whether they speak of one resource; a root cause without one speaks of its tasks, a wrong value of the op that takes
    it."""
    if root.code == "WD110":
        return not set(root.ops).isdisjoint(finding.ops)
    if root.resources:
        return not set(root.resources).isdisjoint(finding.resources)
    return not set(root.tasks).isdisjoint(finding.tasks)


def _naming(root: Finding, left_out: Sequence[Finding]) -> Finding:
    codes = list(dict.fromkeys(f.code for f in left_out if f.code != root.code))
    if not codes:
        return root
    more = len(codes) - NAMED
    text = ", ".join(codes[:NAMED]) + (f" and {more} more" if more > 0 else "")
    return replace(root, notes=(*root.notes, f"follows from it, and is left out here: {text}"))
