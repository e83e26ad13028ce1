"""What the debug builds cost: `python benchmarks/gpu/debug_builds.py`, on a GPU.

Plain, watchdog and profile build of one document are timed in turn in one process, as CUDA graphs on random data; medians.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from types import ModuleType

from warpdraft.backends.cutedsl import lower
from warpdraft.core.document import Document
from warpdraft.core.store import load

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples"
NAMES = ("persistent_gemm", "hopper_gemm", "ping_pong_gemm")
EXTENTS = (2048, 4096, 8192)
BUILDS = ("", "watchdog", "profile")


def module(document: Document, build: str, folder: str) -> ModuleType:
    """One build as a module; the DSL reads its text, so it stands in a file."""
    path = Path(folder, f"{document.name}_{build or 'plain'}.py")
    path.write_text(lower(document, build=build))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def main() -> None:
    """A line for each document and size."""
    with tempfile.TemporaryDirectory() as folder:
        for name in NAMES:
            document = load(EXAMPLES / f"{name}.warpdraft.json")
            modules = [module(document, build, folder) for build in BUILDS]
            kernels = [m.build() for m in modules]
            for extent in EXTENTS:
                inputs, outputs = modules[0].make_tensors(dict.fromkeys("MNK", extent))
                runs = [m.bind(k, inputs + outputs) for m, k in zip(modules, kernels, strict=True)]
                plain, *debug = (t[len(t) // 2] for t in modules[0].measure(runs, (True,) * len(runs)))
                costs = (f"{b} {t / plain - 1:+.1%}" for b, t in zip(BUILDS[1:], debug, strict=True))
                print(f"{name:18} {extent:5}: {plain * 1e6:7.1f} us, {', '.join(costs)}", flush=True)


if __name__ == "__main__":
    main()
