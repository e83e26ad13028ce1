"""`warpdraft run`: the kernel on the GPU, or in the emulator, against its reference."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from warpdraft.core.document import Document, Value

from ..choosing import Choice, choose
from ..measurements import CacheError, keep, kept, measured
from ..running import gpu_name
from .errors import BadInput
from .export import REFUSED, module_of
from .inputs import assignments, documents_at, integers, need_kernel
from .output import print_json

if TYPE_CHECKING:
    from warpdraft.backends.cutedsl import Measurement

WRONG = 1
SHOWN = 12  # blocked warps or wrong tiles that are printed; --json has them all


def add(commands: argparse._SubParsersAction) -> None:
    """Adds the command to the parser."""
    parser = commands.add_parser("run", help="run the kernel: right or wrong, median time, TFLOP/s")
    parser.add_argument(
        "path",
        nargs="+",
        metavar="PATH",
        help="a .warpdraft.json, or a .py that builds schedules; of several, the one that was measured fastest is run, "
        "or else the one predicted fastest",
    )
    parser.add_argument(
        "--size", action="append", metavar="M=4096,N=4096", help="sizes other than the kernel's own"
    )
    parser.add_argument("--param", action="append", metavar="dtype=bf16", help="compile-time parameters")
    parser.add_argument(
        "--emulate", action="store_true", help="on the CPU, with completions as late as allowed"
    )
    parser.add_argument(
        "--measure", action="store_true", help="time every PATH on the GPU, and keep that for later choices"
    )
    parser.add_argument("--unsafe", action="store_true", help="run although the check finds errors")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Exit code 0 if the result is right, 1 if it is wrong, hung or deadlocked, or the check refuses it."""
    sizes, texts = integers(options.size, "--size"), assignments(options.param, "--param")
    documents = [_with(d, texts) for path in options.path for d in documents_at(path)]
    if options.measure and (options.emulate or options.unsafe):
        raise BadInput(
            f"--measure is for safe schedules on a GPU, not for --{'emulate' if options.emulate else 'unsafe'}"
        )
    device = gpu_name()
    if not (options.emulate or device):
        raise BadInput("no GPU here (nvidia-smi lists none): use --emulate")
    if options.measure:
        return _measure_all(documents, sizes, texts, options.json)
    choice = _chosen(documents, sizes, "" if options.emulate else device)
    document = choice.document if choice else documents[0]
    if options.emulate:
        return _emulate(document, sizes, texts, choice, options.json)
    source = module_of(document, options.unsafe, watchdog=options.unsafe)  # what may hang then says where
    if source is None:
        return REFUSED
    return _report(document, _measure(document, source, sizes, texts), choice, options.json)


def _with(document: Document, texts: dict[str, str]) -> Document:
    """``document`` with compile-time parameters of the command line. Raises BadInput."""
    need_kernel(document)
    own = dict(document.kernel.parameters) | parameters(document, texts)
    return replace(document, kernel=replace(document.kernel, parameters=tuple(own.items())))


def _chosen(documents: list[Document], sizes: dict[str, int], device: str) -> Choice | None:
    """The one of several documents that is run; None if there is only one. Raises BadInput."""
    if len(documents) == 1:
        return None
    try:
        choice = choose(documents, sizes, device, kept() if device else ())
    except CacheError as error:
        raise BadInput(str(error)) from None
    except KeyError as missing:
        raise BadInput(f"nothing can be predicted: size {missing.args[0]} is not given") from None
    except (ValueError, ArithmeticError) as error:
        raise BadInput(f"nothing can be predicted: {error}") from None
    print(f"{choice.document.name}: of {choice.of}, {_why(choice)}", file=sys.stderr)
    return choice


def _why(choice: Choice) -> str:
    found = choice.measured
    if found is None:
        return f"predicted {choice.predicted.cycles:,} cycles"
    at = "" if choice.by == "measurement" else " at " + ", ".join(f"{n}={v}" for n, v in found.sizes.items())
    return f"measured {found.microseconds:.1f} us{at} on {found.date}"


def _as_data(choice: Choice | None) -> dict[str, Any]:
    """What `--json` says of a choice."""
    if choice is None:
        return {}
    found = choice.measured and asdict(choice.measured)
    cycles = choice.predicted and choice.predicted.cycles
    return {"choice": {"of": choice.of, "by": choice.by, "predicted_cycles": cycles, "measured": found}}


def _measure_all(
    documents: list[Document], sizes: dict[str, int], texts: dict[str, str], as_json: bool
) -> int:
    """Times every document, keeps what was right, and reports the one to be chosen from now on."""
    sources = [module_of(document, unsafe=False) for document in documents]
    if None in sources:
        return REFUSED
    found = [_measure(d, s, sizes, texts) for d, s in zip(documents, sources, strict=True)]
    timed = [(d, m) for d, m in zip(documents, found, strict=True) if m.state == "right" and m.seconds]
    for document, m in zip(documents, found, strict=True):
        ratio = f", {m.ratio:.3f} of {m.library}" if m.ratio is not None else ""
        time = f"{m.seconds * 1e6:.1f} us{ratio}" if m.seconds else m.message
        print(f"{document.name}: {m.state}, {time}", file=sys.stderr)
    try:
        path = keep(measured(d, m) for d, m in timed)
    except CacheError as error:
        raise BadInput(str(error)) from None
    print(f"kept in {path}", file=sys.stderr)
    choice = _chosen(documents, sizes, found[0].device)
    best = choice.document if choice else documents[0]
    return _report(best, next(m for d, m in zip(documents, found, strict=True) if d is best), choice, as_json)


def _emulate(
    document: Document, sizes: dict[str, int], texts: dict[str, str], choice: Choice | None, as_json: bool
) -> int:
    from warpdraft.backends.emulator import EmulationError, emulate_all

    try:
        outcome = emulate_all(document, sizes, parameters(document, texts))
    except EmulationError as error:
        raise BadInput(f"{document.name}: {error}") from None
    if as_json:
        result = {
            "document": document.name,
            "where": "emulator",
            **_as_data(choice),
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


def _measure(document: Document, source: str, sizes: dict[str, int], texts: dict[str, str]) -> Measurement:
    """A run on the GPU. Raises BadInput where it failed."""
    from warpdraft.backends.cutedsl import run_module

    print(f"compiling and running {document.name}", file=sys.stderr)
    found = run_module(source, sizes, texts)
    if found.state == "failed":
        raise BadInput(f"{document.name}: {found.message}")
    return found


def _report(document: Document, found: Measurement, choice: Choice | None, as_json: bool) -> int:
    if as_json:
        result: dict[str, Any] = {**asdict(found), "sizes": dict(found.sizes), **_as_data(choice)}
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
