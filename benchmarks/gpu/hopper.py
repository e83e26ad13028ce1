"""The family of Hopper GEMMs beside cuBLAS: `python benchmarks/gpu/hopper.py [fp16] [bf16] [e4m3] [all]`.

For each shape the member that is predicted fastest runs in a process of its own, in turn with torch.mm (torch._scaled_mm for
e4m3), as CUDA graphs on random data; medians. With `all`, every member at every shape: what the choice is worth.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from math import exp, log

from measure import line

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan
from warpdraft.backends.cutedsl import Measurement, lower, run_sizes
from warpdraft.core.document import Document
from warpdraft.core.simulate import fastest

SHAPES = (
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (4096, 14336, 4096),
    (8192, 1024, 8192),
    (16384, 4096, 1024),
    (2048, 2048, 16384),
)
# Of equal predictions the first is taken: at 4096 cubed the order in which they were measured.
MEMBERS = {
    "128 x 256, cluster 1 x 2": Plan(cluster=(1, 2)),
    "128 x 256, cluster 2 x 1": Plan(),
    "128 x 256": Plan(cluster=(1, 1)),
    "256 x 128, cluster 2 x 1": Plan(tile=(256, 128, 64), subtile=32),
    "128 x 128, cluster 2 x 1": Plan(tile=(128, 128, 64)),
    "64 x 128": Plan(tile=(64, 128, 64), cluster=(1, 1)),
    "128 x 64": Plan(tile=(128, 64, 64), cluster=(1, 1)),
    "64 x 64": Plan(tile=(64, 64, 64), cluster=(1, 1)),
    "ping-pong, cluster 2 x 1": Plan(tile=(128, 128, 64), ping_pong=True, subtile=32),
}
SECONDS = 60  # for one process


def main() -> None:
    """Rows for the types named on the command line (fp16 and bf16, if none is), then their geometric mean."""
    asked = [word for word in sys.argv[1:] if word != "all"] or ["fp16", "bf16"]
    for dtype in asked:
        ratios = [best for shape in SHAPES if (best := row(dtype, shape, "all" in sys.argv))]
        if ratios:
            mean = exp(sum(map(log, ratios)) / len(ratios))
            print(f"{dtype}: geometric mean {mean:.3f} of the library, least {min(ratios):.3f}", flush=True)


def members(dtype: str) -> dict[str, Document]:
    """Every member for operands of this type."""
    plans = MEMBERS.items()
    if dtype == "e4m3":  # k tiles of as many bytes
        plans = [(n, replace(p, tile=(*p.tile[:2], 128), dtype=dtype, out="bf16")) for n, p in plans]
    else:
        plans = [(n, replace(p, dtype=dtype)) for n, p in plans]
    return {name: gemm(plan, name).document for name, plan in plans}


def row(dtype: str, shape: tuple[int, int, int], everything: bool) -> float | None:
    """Measures what is chosen for ``shape``, or every member; the ratio of the chosen one, or None if it failed."""
    sizes, found = dict(zip("MNK", shape, strict=True)), members(dtype)
    chosen, _ = fastest(list(found.values()), sizes)
    ratio = None
    for name, document in found.items():
        if document is chosen or everything:
            (measured,) = one(document, sizes)
            print(f"{dtype} {name:26}{'*' if document is chosen else ' '} {line(measured)}", flush=True)
            ratio = measured.ratio if document is chosen else ratio
    return ratio


def one(document: Document, sizes: dict[str, int]) -> tuple[Measurement, ...]:
    """One process."""
    return run_sizes(lower(document), (sizes,), seconds=SECONDS)[-1:]


if __name__ == "__main__":
    main()
