"""`warpdraft trace`: the predicted or the measured timeline as a trace that Perfetto opens."""

from __future__ import annotations

import argparse
import json
import sys

from warpdraft.core.document import Document
from warpdraft.core.simulate import Timeline, simulate, to_perfetto

from ..running import has_gpu
from .errors import BadInput
from .export import REFUSED, module_of
from .inputs import assignments, check_symbols, integers, need_kernel, one_document
from .output import refuse_overwriting, write
from .run import parameters


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser(
        "trace", help="write the timeline, predicted or measured, as a Perfetto trace"
    )
    parser.add_argument("path", metavar="PATH", help="a .warpdraft.json, or a .py that builds one schedule")
    parser.add_argument(
        "-o", dest="output", metavar="TRACE.json", required=True, help="file to write (-: print)"
    )
    parser.add_argument("--set", action="append", metavar="NAME=N", help="a symbol's value, e.g. k_tiles=16")
    parser.add_argument("--gpu", action="store_true", help="measure on the GPU instead of predicting")
    parser.add_argument(
        "--size", action="append", metavar="M=4096,N=4096", help="with --gpu: sizes of the run"
    )
    parser.add_argument("--param", action="append", metavar="dtype=bf16", help="with --gpu: parameters")
    parser.add_argument("--cta", type=int, default=0, help="with --gpu: the CTA that is shown (default 0)")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0; a deadlock is drawn up to where it stops. Measured: 1 if the check finds errors."""
    refuse_overwriting(options.output, options.path)
    document = one_document(options.path)
    values = integers(options.set, "--set")
    check_symbols(values, [document])
    for symbol in document.symbols:
        if values.get(symbol.name, symbol.min) < symbol.min:
            raise BadInput(f"--set {symbol.name}={values[symbol.name]}: at least {symbol.min}")
    sizes, texts = integers(options.size, "--size"), assignments(options.param, "--param")
    if options.gpu:
        if values:
            raise BadInput("--gpu measures what --size gives; --set is for a prediction")
        timeline = _measured(document, sizes, texts, options.cta)
        if timeline is None:
            return REFUSED
    elif sizes or texts or options.cta:
        raise BadInput("--size, --param and --cta are for --gpu; a prediction takes --set")
    else:
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


def _measured(document: Document, sizes: dict[str, int], texts: dict[str, str], cta: int) -> Timeline | None:
    """One run of the profile build; None (and the reason on standard error) if the check forbids it."""
    need_kernel(document)
    parameters(document, texts)  # refuses unknown names before anything is compiled
    if not has_gpu():
        raise BadInput("--gpu: no GPU here (nvidia-smi lists none)")
    source = module_of(document, False, profile=True)
    if source is None:
        return None
    from warpdraft.backends.cutedsl import profile_module, read_records

    print(f"compiling and running {document.name}", file=sys.stderr)
    found, records = profile_module(source, sizes, texts)
    if records is None or found.state != "right":
        raise BadInput(f"{document.name}: {found.state}: {found.message or f'error {found.error:.2e}'}")
    try:
        return read_records(document, records, cta)
    except ValueError as error:
        raise BadInput(f"{document.name}: {error}") from None
