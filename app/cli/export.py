"""`warpdraft export`: the kernel module of a document, or its schedule for NVIDIA Task Scheduling."""

from __future__ import annotations

import argparse
import sys

from warpdraft.core.document import Document

from .errors import BadInput
from .inputs import TARGETS, need_kernel, one_document
from .output import refuse_overwriting, write

REFUSED = 1
TASK_SCHEDULING = "ts"


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("export", help="write the Python kernel module, or Task Scheduling source")
    parser.add_argument("path", metavar="PATH", help="a .warpdraft.json, or a .py that builds one schedule")
    parser.add_argument(
        "-o", dest="output", metavar="KERNEL.py", required=True, help="file to write (-: print)"
    )
    parser.add_argument(
        "--target",
        choices=(*TARGETS, TASK_SCHEDULING),
        help="instead of the document's own; ts: the schedule as source for NVIDIA Task Scheduling",
    )
    parser.add_argument("--profile", action="store_true", help="stamp each op's begin and end")
    parser.add_argument(
        "--watchdog", action="store_true", help="bound every wait, and report the one that never ends"
    )
    parser.add_argument(
        "--jitter", action="store_true", help="sleep before ops, by a seed, so that races show"
    )
    parser.add_argument("--unsafe", action="store_true", help="export although the check finds errors")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0, or 1 if the check finds errors."""
    refuse_overwriting(options.output, options.path)
    if options.target == TASK_SCHEDULING:
        return write_task_scheduling(options)
    document = one_document(options.path, options.target or "")
    builds = {name: getattr(options, name) for name in ("profile", "watchdog", "jitter")}
    source = module_of(document, options.unsafe, **builds)
    if source is None:
        return REFUSED
    write(options.output, source)
    if options.output != "-":
        print(f"{options.output}: kernel module of {document.name} for {document.target}")
    return 0


def write_task_scheduling(options: argparse.Namespace) -> int:
    """Writes the source, and the annotation file beside it. Raises BadInput."""
    for flag in ("profile", "watchdog", "jitter"):
        if getattr(options, flag):
            raise BadInput(f"--{flag} is for kernel modules; Task Scheduling source has none")
    from warpdraft.backends.nvidia_ts.annotations import beside, dump_annotations
    from warpdraft.backends.nvidia_ts.writing.errors import NotExpressible
    from warpdraft.backends.nvidia_ts.writing.module import to_task_scheduling

    document = one_document(options.path)
    try:
        written = to_task_scheduling(document)
    except NotExpressible as error:
        raise BadInput(f"{document.name}: {error}") from None
    for what in written.left_out:
        print(f"warpdraft: not said for Task Scheduling: {what}", file=sys.stderr)
    if options.output == "-":
        write("-", written.text)
        return 0
    notes = str(beside(options.output))
    refuse_overwriting(notes, options.path)
    write(options.output, written.text)
    write(notes, dump_annotations(written.annotations))
    print(f"{options.output}: Task Scheduling source of {document.name}; {notes}: what its works do")
    return 0


def module_of(document: Document, unsafe: bool, **builds: bool) -> str | None:
    """The module's source, or None (and the reason on standard error) if the check forbids it. Raises BadInput."""
    need_kernel(document)
    from warpdraft.backends.cutedsl import ExportRefused, LoweringError, export_module

    try:
        return export_module(document, unsafe=unsafe, **builds)
    except ExportRefused as refused:
        for finding in refused.findings:
            print(f"{finding.severity}[{finding.code}]: {finding.message}", file=sys.stderr)
        print(f"warpdraft: refused: {refused} (--unsafe overrides)", file=sys.stderr)
        return None
    except LoweringError as error:
        raise BadInput(f"{document.name}: {error}") from None
