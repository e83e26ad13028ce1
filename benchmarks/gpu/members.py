"""All members of the family of Hopper GEMMs beside cuBLAS: `python benchmarks/gpu/members.py [fp16] [bf16] [--keep FILE]`.

One process for each type compiles all members and times them with torch.mm at each shape, as CUDA graphs on random data, in
a new random order in each round, so that no kernel always runs behind the same one: with random data the card's power sets
the clock, and a kernel that needs less leaves more to the next. The ratio is that of the mean of torch.mm's times before and
behind a kernel to its own; medians. `--keep` writes what was found as a file of measurements (`app/measurements.py`).
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import ModuleType

from hopper import SHAPES

from warpdraft.app.measurements import Measured, dumps, measured
from warpdraft.assets.examples.hopper.members import members
from warpdraft.backends.cutedsl import Measurement, lower
from warpdraft.core.document import Document

SECONDS, ROUNDS = 3e-3, 13  # of one replay; the first two rounds are left out
EVERY = 3  # members between two calls of the library


def main() -> None:
    """A table for each type."""
    parser = argparse.ArgumentParser()
    parser.add_argument("types", nargs="*", default=["fp16", "bf16"])
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    found: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder:
        for dtype in options.types:
            documents = {name: manager.document for name, manager in members(dtype).items()}
            modules = {name: compiled(d, Path(folder, f"{name}_{dtype}.py")) for name, d in documents.items()}
            for shape in SHAPES:
                rows = row(documents, modules, dtype, dict(zip("MNK", shape, strict=True)))
                found += rows
                best = sorted(rows, key=lambda r: -r.ratio)
                print(dtype, shape, ", ".join(f"{r.name} {r.ratio:.3f}" for r in best), flush=True)
    if options.keep:
        options.keep.write_text(dumps(found), encoding="utf-8")


def compiled(document: Document, path: Path) -> tuple[ModuleType, object]:
    """A member's module, and its kernel; the DSL reads the module's text, so it stands in a file."""
    path.write_text(lower(document))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, module.build()


def row(documents: dict[str, Document], modules: dict, dtype: str, sizes: dict[str, int]) -> list[Measured]:
    """Every member at ``sizes``."""
    import torch

    first, _ = next(iter(modules.values()))
    inputs, outputs = first.make_tensors(sizes)
    runs = {name: module.bind(kernel, inputs + outputs) for name, (module, kernel) in modules.items()}
    runs["library"] = lambda: first.library(inputs, outputs)
    for name, run in runs.items():
        outputs[0].fill_(float("nan"))
        run()
        error = (outputs[0].float() - first.reference(*inputs)[0].float()).norm()
        assert error / first.reference(*inputs)[0].float().norm() < 5e-3, f"{name} is wrong"
    graphs = {name: graph(run) for name, run in runs.items()}
    times, ratios = in_turn(graphs)
    device = torch.cuda.get_device_name()
    return [
        measured(
            documents[name],
            Measurement(
                "right", device=device, dtype=dtype, sizes=tuple(sizes.items()), seconds=t, ratio=ratios[name]
            ),
        )
        for name, t in times.items()
    ]


def graph(run: Callable[[], None]) -> Callable[[], float]:
    """A function that replays about `SECONDS` of calls and gives the seconds of one."""
    import torch

    def captured(calls: int) -> Callable[[], float]:
        made = torch.cuda.CUDAGraph()
        with torch.cuda.graph(made):
            for _ in range(calls):
                run()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def replay() -> float:
            begin.record()
            made.replay()
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end) / 1e3 / calls

        return replay

    probe = captured(3)
    probe()
    return captured(max(2, round(SECONDS / probe())))


def in_turn(graphs: dict[str, Callable[[], float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Median seconds of each member, and the median of its ratios to the library."""
    names, order = [name for name in graphs if name != "library"], random.Random(1)
    times: dict[str, list[float]] = {name: [] for name in names}
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for number in range(ROUNDS + 2):
        order.shuffle(names)
        groups = [names[i : i + EVERY] for i in range(0, len(names), EVERY)]
        before = graphs["library"]()
        for group in groups:
            taken = {name: graphs[name]() for name in group}
            behind = graphs["library"]()
            for name, t in taken.items() if number >= 2 else ():
                times[name].append(t)
                ratios[name].append((before + behind) / 2 / t)
            before = behind
    return {n: median(t) for n, t in times.items()}, {n: median(r) for n, r in ratios.items()}


if __name__ == "__main__":
    main()
