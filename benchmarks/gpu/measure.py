"""Checks and times exported kernels on this machine's GPU: `python benchmarks/gpu/measure.py [gemm] [copy] [broken]`.

Every row is a process of its own (a kernel that hangs ends with it) in which the kernel and the library call are replayed
in turn, as CUDA graphs, and the medians compared: see `measure` in an exported module.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from store_task import store_task
from variants import VARIANTS, chunked

from warpdraft.backends.cutedsl import Measurement, export_module, lower, run_sizes
from warpdraft.core.document import Document
from warpdraft.core.store import load

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"
SECONDS = 60  # for one process
CORRECT = ({"M": 1000, "N": 1016, "K": 520}, {"M": 8, "N": 8, "K": 8}, {"M": 4096, "N": 4096, "K": 200})
SQUARE = tuple({"M": n, "N": n, "K": n} for n in (4096,))


def main() -> None:
    """Runs the groups named on the command line, or all."""
    groups = {"gemm": gemm, "copy": copy, "broken": broken}
    for name in sys.argv[1:] or groups:
        groups[name]()


def example(name: str) -> Document:
    """A document of assets/examples."""
    return load(EXAMPLES / f"{name}.warpdraft.json")


def gemm() -> None:
    """Both GEMMs in both element types, and every edit of the persistent one."""
    for name in ("persistent_gemm", "gemm"):
        source = lower(example(name))
        for dtype in ("fp16", "bf16"):
            show(f"{name} {dtype}", source, (*CORRECT, *SQUARE), {"dtype": dtype})
    show("persistent_gemm fp16", lower(example("persistent_gemm")), sizes(2048, 8192))
    watched = lower(example("persistent_gemm"), build="watchdog")
    show("persistent_gemm, watchdog", watched, (CORRECT[0], *sizes(2048, 4096, 8192)))
    show("store_task fp16", lower(store_task()), (*CORRECT, *SQUARE))
    for label, edit in VARIANTS.items():
        show(f"persistent_gemm, {label}", lower(edit(example("persistent_gemm"))), (*CORRECT[:2], *SQUARE))


def sizes(*extents: int) -> tuple[dict[str, int], ...]:
    """Square products."""
    return tuple({"M": n, "N": n, "K": n} for n in extents)


def copy() -> None:
    """The copy at a size far beyond the L2 cache, with other chunks and rings."""
    document = example("tma_copy")
    for columns, stages in ((64, 4), (64, 8), (128, 8), (256, 6)):
        source = lower(chunked(document, columns, stages))
        show(f"tma_copy, {stages} stages of 64 x {columns}", source, ({"M": 1000}, {"M": 1 << 20}))


def broken() -> None:
    """The unsafe examples: what the verifier refuses, run all the same."""
    for path in sorted(EXAMPLES.glob("broken_*.warpdraft.json")):
        name, document = path.name.split(".")[0], load(path)
        show(name, export_module(document, unsafe=True), (CORRECT[0], *SQUARE), seconds=20)
        watched = export_module(document, unsafe=True, watchdog=True)
        show(f"{name}, watchdog", watched, CORRECT[:1], seconds=30)


def show(label: str, source: str, asked, parameters=None, seconds: float = SECONDS) -> None:
    """One process; a line for each size."""
    began = time.perf_counter()
    for found in run_sizes(source, asked, parameters, seconds=seconds):
        print(f"{label:40} {line(found)}", flush=True)
    print(f"{label:40} took {time.perf_counter() - began:.1f} s", flush=True)


def line(found: Measurement) -> str:
    """One result in words."""
    extents = " x ".join(str(v) for _, v in found.sizes)
    text = f"{extents:20} {found.state:6} error {found.error:.1e}" if found.sizes else found.state
    if found.rate:
        text += f"  {found.seconds * 1e6:8.1f} us {found.rate:7.2f} {found.unit}, {found.ratio:.3f} of {found.library}"
    return f"{text} {found.message}".rstrip()


if __name__ == "__main__":
    main()
