"""What is chosen of the family of Hopper GEMMs, beside cuBLAS: `python benchmarks/gpu/hopper.py [fp16] [bf16] [times=N]`.

For each shape the member that `warpdraft run` would take (by the measurements that come with the package, or else by
prediction) runs in ``N`` processes of its own (1 if not said), in turn with torch.mm (torch._scaled_mm for e4m3), as CUDA
graphs on random data; medians. `members.py` measures every member.
"""

from __future__ import annotations

import sys
from math import exp, log
from statistics import median

from measure import line

from warpdraft.app.choosing import choose
from warpdraft.app.measurements import kept
from warpdraft.app.running import gpu_name
from warpdraft.assets.examples.hopper.members import members
from warpdraft.backends.cutedsl import lower, run_sizes

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
SECONDS = 60  # for one process


def main() -> None:
    """Rows for the types named on the command line (fp16 and bf16, if none is), then their geometric mean."""
    asked = [word for word in sys.argv[1:] if not word.startswith("times=")] or ["fp16", "bf16"]
    times = next((int(w.removeprefix("times=")) for w in sys.argv if w.startswith("times=")), 1)
    for dtype in asked:
        ratios = [found for shape in SHAPES if (found := row(dtype, shape, times))]
        if ratios:
            middle = [median(r) for r in ratios]
            mean, least = exp(sum(map(log, middle)) / len(middle)), min(map(min, ratios))
            print(f"{dtype}: geometric mean {mean:.3f} of the library, least {least:.3f}", flush=True)


def row(dtype: str, shape: tuple[int, int, int], times: int) -> list[float]:
    """Measures what is chosen for ``shape``, ``times`` times; its ratios to the library."""
    sizes = dict(zip("MNK", shape, strict=True))
    choice = choose([m.document for m in members(dtype).values()], sizes, gpu_name(), kept())
    source, ratios = lower(choice.document), []
    for _ in range(times):
        measured = run_sizes(source, (sizes,), seconds=SECONDS)[-1]
        print(f"{dtype} {choice.document.name:16} {choice.by:16} {line(measured)}", flush=True)
        ratios += [measured.ratio] if measured.ratio and measured.state == "right" else []
    return ratios


if __name__ == "__main__":
    main()
