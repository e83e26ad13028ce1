"""GEMMs with bias, activation and residual beside the library's calls: `python benchmarks/gpu/epilogues.py`, on a GPU.

The calls that do the same are `torch.nn.functional.linear`, the activation, and an addition in place. All are timed in one
process, as `members.py` does it; ratios are to those calls. Of `linear` alone the ratio is given, too: no epilogue would be
at that of a kernel as fast as cuBLAS's.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from members import compiled, graph, in_turn

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan

SHAPES = ((2048, 2048, 2048), (4096, 4096, 4096), (8192, 1024, 8192))
EPILOGUE = {"bias": True, "activation": "silu", "residual": True}
IN_TURN = Plan(tile=(128, 128, 64), cluster=(1, 1), ping_pong=True, subtile=32)
PLANS = {
    "shared 128 x 256, cluster 2 x 1": Plan(**EPILOGUE),
    "shared 128 x 128 (residual_gemm)": Plan(tile=(128, 128, 64), cluster=(1, 1), **EPILOGUE),
    "apart 128 x 256": Plan(tile=(64, 256, 64), cluster=(1, 1), apart=True, **EPILOGUE),
    "apart 128 x 128": Plan(tile=(64, 128, 64), cluster=(1, 1), apart=True, **EPILOGUE),
    "ping-pong 128 x 128": replace(IN_TURN, **EPILOGUE),
}


def main() -> None:
    """A table for each shape."""
    with tempfile.TemporaryDirectory() as folder:
        modules = {
            name: compiled(gemm(plan, "gemm").document, Path(folder, f"epilogue_{i}.py"))
            for i, (name, plan) in enumerate(PLANS.items())
        }
        for shape in SHAPES:
            times, ratios = row(modules, dict(zip("MNK", shape, strict=True)))
            for name, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
                print(f"{shape}: {name:34} {times[name] * 1e6:8.1f} us {ratio:.3f}", flush=True)


def row(modules: dict, sizes: dict[str, int]) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of each, and ratios to the library's calls, at ``sizes``."""
    import torch

    first, _ = next(iter(modules.values()))
    inputs, outputs = first.make_tensors(sizes)
    expected = first.reference(*inputs)[0].float()
    runs = {name: module.bind(kernel, inputs + outputs) for name, (module, kernel) in modules.items()}
    for name, run in runs.items():
        outputs[0].fill_(float("nan"))
        run()
        error = ((outputs[0].float() - expected).norm() / expected.norm()).item()
        assert error < 5e-3, f"{name} is wrong: {error}"
    runs["linear alone"] = lambda: torch.nn.functional.linear(*inputs[:3])
    runs["library"] = lambda: first.library(inputs, outputs)
    return in_turn({name: graph(run) for name, run in runs.items()})


if __name__ == "__main__":
    main()
