"""`warpdraft run`: the kernel on the GPU, or in the emulator, against its reference."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

from warpdraft.core.document import Document, Value

from ..running import has_gpu
from .errors import BadInput
from .export import REFUSED, module_of
from .inputs import assignments, integers, need_kernel, one_document
from .output import print_json

WRONG = 1
SHOWN = 12  # blocked warps or wrong tiles that are printed; --json has them all


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("run", help="run the kernel: right or wrong, median time, TFLOP/s")
    parser.add_argument(
        "path",
        nargs="+",
        metavar="PATH",
        help="a .warpdraft.json, or a .py that builds one schedule; of several, the one predicted fastest is run",
    )
    parser.add_argument(
        "--size", action="append", metavar="M=4096,N=4096", help="sizes other than the kernel's own"
    )
    parser.add_argument("--param", action="append", metavar="dtype=bf16", help="compile-time parameters")
    parser.add_argument(
        "--emulate", action="store_true", help="on the CPU, with completions as late as allowed"
    )
    parser.add_argument("--unsafe", action="store_true", help="run although the check finds errors")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if the result is right, 1 if it is wrong, hung or deadlocked, or the check refuses it."""
    sizes, texts = integers(options.size, "--size"), assignments(options.param, "--param")
    document = _chosen(options.path, sizes)
    if options.emulate:
        return _emulate(document, sizes, texts, options.json)
    if not has_gpu():
        raise BadInput("no GPU here (nvidia-smi lists none): use --emulate")
    source = module_of(document, options.unsafe, watchdog=options.unsafe)  # what may hang then says where
    if source is None:
        return REFUSED
    return _measure(document, source, sizes, texts, options.json)


def _chosen(paths: list[str], sizes: dict[str, int]) -> Document:
    """The only document, or the one of several that is predicted fastest at ``sizes``. Raises BadInput."""
    documents = [one_document(path) for path in paths]
    for document in documents:
        need_kernel(document)
    if len(documents) == 1:
        return documents[0]
    from warpdraft.core.simulate import fastest

    try:
        chosen, predicted = fastest(documents, sizes)
    except KeyError as missing:
        raise BadInput(f"nothing can be predicted: size {missing.args[0]} is not given") from None
    except (ValueError, ArithmeticError) as error:
        raise BadInput(f"nothing can be predicted: {error}") from None
    print(f"{chosen.name}: of {len(documents)}, predicted {predicted.cycles:,} cycles", file=sys.stderr)
    return chosen


def _emulate(document: Document, sizes: dict[str, int], texts: dict[str, str], as_json: bool) -> int:
    from warpdraft.backends.emulator import EmulationError, emulate_all

    try:
        outcome = emulate_all(document, sizes, parameters(document, texts))
    except EmulationError as error:
        raise BadInput(f"{document.name}: {error}") from None
    if as_json:
        result = {
            "document": document.name,
            "where": "emulator",
            **asdict(outcome),
            "sizes": dict(outcome.sizes),
        }
        print_json(result)
        return 0 if outcome.verdict == "right" else WRONG
    at = ", ".join(f"{name}={value}" for name, value in outcome.sizes)
    orders = ", ".join(dict.fromkeys(name for name, _ in outcome.ran))
    seeds = ", ".join(dict.fromkeys(str(seed) for _, seed in outcome.ran))
    if outcome.verdict == "right":
        order = f"in every order: {orders} (seed {seeds})"
    else:
        order = f"in order {outcome.order}, seed {outcome.seed}"
    print(f"{document.name}: {outcome.verdict} in the emulator at {at}, {order}")
    if outcome.verdict != "deadlock":
        print(
            f"  relative error {outcome.relative_error:.2e} (limit {outcome.limit:.0e}), {outcome.tiles} tiles"
        )
    _some([f"wrong tile {t.row}, {t.column} of {t.tensor}: error {t.error:.2e}" for t in outcome.wrong_tiles])
    _some([str(b) for b in outcome.blocked])
    _some([f"note: {n}" for n in outcome.notes])
    return 0 if outcome.verdict == "right" else WRONG


def _measure(
    document: Document, source: str, sizes: dict[str, int], texts: dict[str, str], as_json: bool
) -> int:
    from warpdraft.backends.cutedsl import run_module

    parameters(document, texts)  # refuses unknown names before anything is compiled
    print(f"compiling and running {document.name}", file=sys.stderr)
    found = run_module(source, sizes, texts)
    if found.state == "failed":
        raise BadInput(f"{document.name}: {found.message}")
    if as_json:
        result: dict[str, Any] = {**asdict(found), "sizes": dict(found.sizes)}
        print_json({"document": document.name, "where": "gpu", "verdict": result.pop("state"), **result})
        return 0 if found.state == "right" else WRONG
    at = ", ".join(f"{name}={value}" for name, value in found.sizes)
    print(
        f"{document.name}: {found.state}"
        + (f" on {found.device} at {at}, {found.dtype}" if found.device else "")
    )
    if found.message:
        print(f"  {found.message}")
    else:
        print(f"  relative error {found.error:.2e} (limit {found.limit:.0e})")
    if found.seconds is not None:
        print(
            f"  {found.seconds * 1e6:.1f} us median"
            + (f" (spread {found.spread:.1%})" if found.spread is not None else "")
            + (f", {found.rate:.1f} {found.unit}" if found.rate else "")
        )
    if found.ratio is not None:
        print(f"  {found.ratio:.3f} of {found.library}")
    return 0 if found.state == "right" else WRONG


def parameters(document: Document, texts: dict[str, str]) -> dict[str, Value]:
    """``--param`` values in the types of the kernel's own. Raises BadInput for one that the kernel does not have."""
    if not texts:
        return {}
    own = dict(document.kernel.parameters) if document.kernel else {}
    result: dict[str, Value] = {}
    for name, text in texts.items():
        if name not in own:
            raise BadInput(
                f"--param {name}: the kernel has no such parameter; it has {', '.join(own) or 'none'}"
            )
        result[name] = _like(own[name], text, name)
    return result


def _like(own: Value, text: str, name: str) -> Value:
    if isinstance(own, str):
        return text
    if isinstance(own, bool):
        if text not in ("true", "false"):
            raise BadInput(f"--param {name}: {text!r} is neither true nor false")
        return text == "true"
    if isinstance(own, int):
        return integers([f"{name}={text}"], "--param")[name]
    raise BadInput(f"--param {name}: only texts and integers can be given on the command line")


def _some(lines: list[str]) -> None:
    for line in lines[:SHOWN]:
        print(f"  {line}")
    if len(lines) > SHOWN:
        print(f"  ... and {len(lines) - SHOWN} more (--json has all)")
