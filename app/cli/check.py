"""`warpdraft check`: verify a document, or every schedule that a script builds."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from .errors import BadInput
from .inputs import check_symbols, is_script, read_document, trip_counts
from .output import print_json
from .scripts import Built, run_script

if TYPE_CHECKING:
    from warpdraft.core.findings import Report

CODES = {"safe": 0, "unsafe": 1, "incomplete": 3}
BADNESS = (
    0,
    3,
    1,
)  # exit codes from best to worst: an error that was found outweighs a check that did not finish


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("check", help="verify a document, or what a script builds")
    parser.add_argument(
        "path", metavar="PATH", help="a .warpdraft.json, or a .py: every TaskManager that it builds"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON (several: as a list)")
    parser.add_argument(
        "--set",
        action="append",
        metavar="NAME=A:B",
        help="trip counts to try, both ends included: k_tiles=0:64",
    )
    parser.add_argument(
        "--fixes", action="store_true", help="look for fixes, as --json does (up to 10 s each schedule)"
    )
    parser.add_argument(
        "--advice",
        action="store_true",
        help="also what a safe schedule could do without, and what would make it faster (up to 20 s each)",
    )
    parser.add_argument(
        "--second-opinion",
        action="store_true",
        help="of a script of NVIDIA Task Scheduling: what its own check says, and why it differs",
    )
    parser.add_argument("--strict-lanes", action="store_true", help="lanes of a warp may drift apart")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 safe, 1 errors found, 3 incomplete; of several schedules the worst."""
    from warpdraft.core.verify import verify

    counts = trip_counts(options.set)
    built = (
        run_script(options.path, options.second_opinion)
        if is_script(options.path)
        else Built((read_document(options.path),))
    )
    if options.second_opinion and not built.opinions:
        raise BadInput(f"--second-opinion: {options.path} is no script of Task Scheduling")
    check_symbols(counts, built.documents)
    reports = [
        verify(
            document,
            trip_counts={s.name: counts[s.name] for s in document.symbols if s.name in counts} or None,
            strict_lanes=options.strict_lanes,
        )
        for document in built.documents
    ]
    if options.json or options.fixes:
        from warpdraft.core.fixes import with_fixes

        reports = [with_fixes(d, r) for d, r in zip(built.documents, reports, strict=True)]
    notes: list[tuple[str, ...]] = [()] * len(reports)
    if options.advice:
        reports, notes = _advised(reports, built)
    _print(reports, notes, built, options.json)
    if built.error:
        print(f"warpdraft: {options.path}: {' '.join(built.error.split())}", file=sys.stderr)
    codes = [CODES[r.verdict] for r in reports] + ([CODES["unsafe"]] if built.error else [])
    return max(codes, key=BADNESS.index)


def _advised(reports: list[Report], built: Built) -> tuple[list[Report], list[tuple[str, ...]]]:
    from warpdraft.core.advice import advise, with_advice

    given = [advise(d, report=r) for d, r in zip(built.documents, reports, strict=True)]
    return [with_advice(r, a) for r, a in zip(reports, given, strict=True)], [a.notes for a in given]


def _print(reports: list[Report], notes: list[tuple[str, ...]], built: Built, as_json: bool) -> None:
    from warpdraft.core.report import render_report, report_json

    from .import_ts import beside, opinion_below

    rows = list(zip(built.documents, reports, notes, strict=True))
    if as_json:
        values = [report_json(d, r) | ({"advice": list(n)} if n else {}) for d, r, n in rows]
        for value, (d, r, _), opinion in zip(values, rows, built.opinions, strict=False):
            value["task_scheduling"] = beside(d, r, opinion)
        print_json(values[0] if len(values) == 1 else values)
        return
    if rows:
        texts = ["\n".join([render_report(d, r), *(f"note: {line}" for line in n)]) for d, r, n in rows]
        for i, opinion in enumerate(built.opinions):
            document, report, _ = rows[i]
            texts[i] = "\n".join([texts[i], *opinion_below(beside(document, report, opinion))])
        print("\n\n".join(texts))
