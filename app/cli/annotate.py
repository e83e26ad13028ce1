"""`warpdraft annotate`: a draft of the annotation file of a Task Scheduling script, or the one that a document says."""

from __future__ import annotations

import argparse
import os

from .errors import BadInput
from .inputs import existing, read_document
from .output import refuse_overwriting, write


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("annotate", help="draft the annotation file of a Task Scheduling script")
    parser.add_argument("script", metavar="SCRIPT", help="the script; its bodies are read, not run")
    parser.add_argument(
        "--from", dest="source", metavar="DOCUMENT", help="write what this document says instead of a draft"
    )
    parser.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        help="default: SCRIPT with the ending .annotations.toml (-: print)",
    )
    parser.add_argument("arguments", metavar="ARGS", nargs="*", help="arguments of the script, behind --")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0."""
    from warpdraft.backends.nvidia_ts.annotations import beside

    output = options.output or str(beside(options.script))
    refuse_overwriting(output, options.script)
    if not options.output and os.path.exists(output):
        raise BadInput(f"{output}: is there already; give -o another name, or -o {output} to replace it")
    text, count, open_ = _stated(options) if options.source else _drafted(options)
    write(output, text)
    if output != "-":
        left = f", {open_} of them with something undecided" if open_ else ""
        print(f"{output}: {count} works{left}")
    return 0


def _drafted(options: argparse.Namespace) -> tuple[str, int, int]:
    """The draft, how many works it says something of, and of how many not all."""
    from warpdraft.backends.nvidia_ts import AnnotationError, Annotations, ImportRefused
    from warpdraft.backends.nvidia_ts.importing import import_script
    from warpdraft.backends.nvidia_ts.scanning.draft import draft
    from warpdraft.backends.nvidia_ts.scanning.scan import scan
    from warpdraft.backends.nvidia_ts.scanning.sources import Sources, Unreadable

    try:
        scans = scan(Sources(existing(options.script)))
        managers = import_script(options.script, options.arguments, annotations=Annotations())
    except (Unreadable, ImportRefused, AnnotationError) as error:
        raise BadInput(str(error)) from None
    folder = os.path.dirname(os.path.abspath(options.script))
    made = draft(scans, [m.document for m in managers], folder)
    works = made.annotations.works.values()
    return made.text, len(works), sum(bool(w.undecided) for w in works)


def _stated(options: argparse.Namespace) -> tuple[str, int, int]:
    """What the document says of its works."""
    from warpdraft.backends.nvidia_ts.annotations import dump_annotations
    from warpdraft.backends.nvidia_ts.writing.bodies import split
    from warpdraft.backends.nvidia_ts.writing.errors import NotExpressible

    document = read_document(options.source)
    try:
        _, found = split(document)
    except NotExpressible as error:
        raise BadInput(f"{options.source}: {error}") from None
    works = found.works.values()
    return dump_annotations(found), len(works), sum(bool(w.undecided) for w in works)
