"""`warpdraft patch-ts`: an edited document applied to the Task Scheduling script that it was imported from."""

from __future__ import annotations

import argparse
import difflib
import sys

from .errors import BadInput
from .inputs import existing, read_document
from .output import write


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("patch-ts", help="apply an edited document to its Task Scheduling script")
    parser.add_argument("script", metavar="SCRIPT", help="the script that the document was imported from")
    parser.add_argument("document", metavar="DOCUMENT", help="the edited .warpdraft.json")
    parser.add_argument(
        "--apply", action="store_true", help="change the script (default: only show the patch)"
    )
    parser.add_argument("arguments", metavar="ARGS", nargs="*", help="arguments of the script, behind --")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0, also where nothing changes."""
    from warpdraft.backends.nvidia_ts import AnnotationError, ImportRefused
    from warpdraft.backends.nvidia_ts.patching.apply import patch_script
    from warpdraft.backends.nvidia_ts.patching.matching import CannotPatch

    document = read_document(options.document)
    try:
        found = patch_script(existing(options.script), document, options.arguments)
    except (CannotPatch, ImportRefused, AnnotationError) as error:
        raise BadInput(str(error)) from None
    if found.after == found.before:
        print(f"{options.script}: builds {document.name} already; nothing to change", file=sys.stderr)
        return 0
    lines = difflib.unified_diff(
        found.before.splitlines(keepends=True),
        found.after.splitlines(keepends=True),
        f"a/{options.script}",
        f"b/{options.script}",
    )
    sys.stdout.writelines(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )
    if options.apply:
        write(options.script, found.after.encode())
        print(f"{options.script}: changed", file=sys.stderr)
    return 0
