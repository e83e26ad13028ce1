"""GEMMs of e4m3, their sums promoted or not, beside torch: `python benchmarks/gpu/fp8.py [errors] [speed]`, on a GPU.

Errors: relative (Frobenius norm), against float32, of results in fp16; of normal inputs, and of their absolute values, whose
sums only grow. Speed: TFLOP/s as `members.py` measures, and ratios to `torch._scaled_mm` as it is called by default, and
with `use_fast_accum=True`.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from members import compiled, graph, in_turn

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan

LENGTHS = (16, 1024, 4096, 6144, 8192, 16384, 65536)  # of the sums
SHAPES = (
    (2048,) * 3,
    (4096,) * 3,
    (8192,) * 3,
    (4096, 14336, 4096),
    (2048, 2048, 16384),
    (4096, 4096, 65536),
)
ONE = Plan(tile=(128, 256, 128), dtype="e4m3", out="fp16")
APART = replace(ONE, tile=(64, 128, 128), apart=True)
WIDE = replace(APART, tile=(64, 192, 128))
PLANS = {
    "shared 128 x 256": ONE,
    "apart 128 x 256": replace(APART, tile=(64, 256, 128)),
    "apart 128 x 192": WIDE,
    "apart 128 x 128": APART,
    **{f"apart 128 x 128, promoted by {n}": replace(APART, promote=n) for n in (1, 2, 4, 8)},
    "apart 128 x 128, 1 x 2, promoted by 2": replace(APART, promote=2, cluster=(1, 2)),
    "apart 128 x 128, alone, promoted by 2": replace(APART, promote=2, cluster=(1, 1)),
    "shared 128 x 128, promoted by 2": replace(APART, tile=(128, 128, 128), apart=False, promote=2),
    "apart 128 x 192, promoted by 2": replace(WIDE, promote=2),
}


def main() -> None:
    """What the command line names, or both."""
    with tempfile.TemporaryDirectory() as folder:
        modules = {
            name: compiled(gemm(plan, "gemm").document, Path(folder, f"fp8_{i}.py"))
            for i, (name, plan) in enumerate(PLANS.items())
        }
        for what in sys.argv[1:] or ("errors", "speed"):
            {"errors": errors, "speed": speed}[what](modules)


def library(inputs, out, fast: bool) -> None:
    """The call of torch that does the same."""
    import torch

    one = torch.ones((), device=out.device)
    a, b = inputs
    torch._scaled_mm(a, b.mT, scale_a=one, scale_b=one, out_dtype=out.dtype, out=out, use_fast_accum=fast)


def runs(modules: dict, inputs: list, outputs: list) -> dict:
    """A function for each kernel and each call of torch."""
    found = {name: module.bind(kernel, inputs + outputs) for name, (module, kernel) in modules.items()}
    found["library, fast"] = partial(library, inputs, outputs[0], True)
    return found | {"library": partial(library, inputs, outputs[0], False)}


def errors(modules: dict) -> None:
    """A row for each kernel, a column for each length."""
    import torch

    first, _ = next(iter(modules.values()))
    rows: dict[str, list[str]] = {}
    for positive in (False, True):
        for k in LENGTHS:
            (a, b), outputs = first.make_tensors({"M": 512, "N": 768, "K": k})
            if positive:  # small enough for fp16
                a, b = ((t.float().abs() / 16).to(t.dtype) for t in (a, b))
            expected = first.reference(a, b)[0]
            for name, run in runs(modules, [a, b], outputs).items():
                outputs[0].fill_(float("nan"))
                run()
                error = ((outputs[0].float() - expected).norm() / expected.norm()).item()
                rows.setdefault(name, []).append(f"{error:.1e}")
    torch.cuda.synchronize()
    print("K =", *LENGTHS, "and of absolute values:")
    for name, row in rows.items():
        print(f"{name:40}", *row, flush=True)


def speed(modules: dict) -> None:
    """A table for each shape."""
    first, _ = next(iter(modules.values()))
    for m, n, k in SHAPES:
        inputs, outputs = first.make_tensors({"M": m, "N": n, "K": k})
        times, ratios = in_turn({name: graph(run) for name, run in runs(modules, inputs, outputs).items()})
        fast = times["library, fast"]
        print(f"{m} x {n} x {k}")
        for name, taken in times.items():
            rate = 2e-12 * m * n * k / taken
            print(f"  {name:40} {rate:7.1f} TFLOP/s {ratios[name]:.3f} {fast / taken:.3f}", flush=True)


if __name__ == "__main__":
    main()
