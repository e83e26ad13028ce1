"""`warpdraft trace`: the predicted timeline as a trace that Perfetto opens."""

from __future__ import annotations

import argparse
import json
import sys

from warpdraft.core.simulate import simulate, to_perfetto

from .errors import BadInput
from .inputs import check_symbols, integers, one_document
from .output import refuse_overwriting, write


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("trace", help="write the predicted timeline as a Perfetto trace")
    parser.add_argument("path", metavar="PATH", help="a .warpdraft.json, or a .py that builds one schedule")
    parser.add_argument(
        "-o", dest="output", metavar="TRACE.json", required=True, help="file to write (-: print)"
    )
    parser.add_argument("--set", action="append", metavar="NAME=N", help="a symbol's value, e.g. k_tiles=16")
    parser.add_argument("--gpu", action="store_true", help="measure on the GPU instead of predicting")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0; a deadlock is drawn up to where it stops."""
    refuse_overwriting(options.output, options.path)
    document = one_document(options.path)
    values = integers(options.set, "--set")
    check_symbols(values, [document])
    for symbol in document.symbols:
        if values.get(symbol.name, symbol.min) < symbol.min:
            raise BadInput(f"--set {symbol.name}={values[symbol.name]}: at least {symbol.min}")
    if options.gpu:
        raise BadInput(
            "--gpu: measured traces are not made yet; export --profile makes a kernel that records them"
        )
    timeline = simulate(document, values)
    write(options.output, json.dumps(to_perfetto(timeline)))
    for note in timeline.notes:
        print(f"note: {note}", file=sys.stderr)
    for blocked in timeline.blocked:
        lane = timeline.lanes[blocked.lane].name
        print(
            f"blocked: {lane} at {blocked.op} waits {blocked.barrier}, owed {blocked.owed}", file=sys.stderr
        )
    values = ", ".join(f"{name} {value}" for name, value in timeline.values)
    where = sys.stderr if options.output == "-" else sys.stdout
    print(
        f"{options.output}: {timeline.total} cycles ({values or 'no symbols'}); {timeline.bottleneck}",
        file=where,
    )
    return 0
