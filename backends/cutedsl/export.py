"""A document's kernel module, if its schedule is safe."""

from __future__ import annotations

from warpdraft.core.document import Document
from warpdraft.core.findings import Report

from .errors import ExportRefused, LoweringError
from .lower import lower, lower_traced
from .module import Module


def export_module(
    document: Document,
    *,
    profile: bool = False,
    watchdog: bool = False,
    jitter: bool = False,
    unsafe: bool = False,
) -> str:
    """The source of the kernel module; with ``watchdog`` every wait on an mbarrier is bounded and reports where it stood,
    with ``profile`` every op records when it began and ended, with ``jitter`` warps sleep before ops, by a seed.

    Raises ExportRefused where the verifier finds errors (or cannot finish) and ``unsafe`` is not set; a module exported
    all the same lists them in its first lines. Raises LoweringError for what this backend cannot write.
    """
    asked = [name for name, on in (("watchdog", watchdog), ("profile", profile), ("jitter", jitter)) if on]
    if len(asked) > 1:
        raise LoweringError(f"a module is one build, not {' and '.join(asked)}")
    build = asked[0] if asked else ""
    Module(
        document, build
    )  # what no check of the schedule could mend is said first: target, cluster, kernel, types
    return lower(document, _checked(document, unsafe), build)


def export_traced(document: Document, *, unsafe: bool = False) -> str:
    """The source of the functions that a traced kernel calls (see `lower_traced`). Raises as `export_module`."""
    Module(document)
    return lower_traced(document, _checked(document, unsafe))


def _checked(document: Document, unsafe: bool) -> str:
    """The heading of the module: "" where the schedule is safe, else a warning. Raises ExportRefused."""
    report = _verify(document)
    if report.verdict == "safe":
        return ""
    if not unsafe:
        raise ExportRefused(_refusal(report), report.errors)
    return _warning(report)


def _verify(document: Document) -> Report:
    from warpdraft.core.verify import verify

    return verify(document)


def _refusal(report: Report) -> str:
    if report.errors:
        count = len(report.errors)
        return (
            f"{report.document}: {count} error{'s' if count > 1 else ''}; first: {report.errors[0].message}"
        )
    return f"{report.document}: the check is incomplete: {report.scope.reason or report.verdict}"


def _warning(report: Report) -> str:
    lines = [f"UNSAFE: exported although the check found this schedule {report.verdict}."]
    lines += [f"  {f.code} {f.name} ({', '.join(f.ops) or 'no op'}): {f.message}" for f in report.errors]
    if not report.errors:
        lines.append(f"  {report.scope.reason or 'no error, but no proof either'}")
    return "\n".join(lines)
