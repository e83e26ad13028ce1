"""`warpdraft explain`: a rule's page."""

from __future__ import annotations

import argparse
import difflib

from .errors import BadInput


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("explain", help="what a rule says and why")
    parser.add_argument("code", metavar="CODE", help="e.g. WD403, or the rule's name")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0."""
    from warpdraft.core.hazards import HAZARDS
    from warpdraft.core.report import explain

    wanted = options.code.strip()
    for hazard in HAZARDS:
        if wanted.upper() == hazard.code or wanted.lower() == hazard.name:
            print(explain(hazard.code))
            return 0
    known = [h.code for h in HAZARDS] + [h.name for h in HAZARDS]
    close = difflib.get_close_matches(wanted, known, 1) or difflib.get_close_matches(wanted.upper(), known, 1)
    hint = (
        f"; did you mean {close[0]}?"
        if close
        else f"; there are {', '.join(sorted(h.code for h in HAZARDS))}"
    )
    raise BadInput(f"no rule is called {wanted}{hint}")
