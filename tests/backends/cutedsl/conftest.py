"""Documents that the backend's tests lower (examples, edits of them, schedules of the GPU benchmark), and their PTX."""

import hashlib
import os
import runpy
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

import warpdraft.assets
from warpdraft.assets.examples import blackwell_pair_gemm, blackwell_scaled_gemm
from warpdraft.backends.cutedsl import compile_module, lower
from warpdraft.core.document import Document
from warpdraft.core.store import load

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"
BENCHMARKS = Path(__file__).parents[3] / "benchmarks" / "gpu"
DOCUMENTS = {
    path.name.removesuffix(".warpdraft.json"): load(path) for path in EXAMPLES.glob("*.warpdraft.json")
}
PAIRS = "blackwell_pairs_gemm"  # clusters of two pairs
WIDE = "blackwell_wide_scaled_gemm"  # tiles of 256 columns
SCHEDULES = ("attention", "ping_pong")  # say nothing of tensors: there is no kernel to make
NAMES = sorted(name for name in DOCUMENTS if name not in SCHEDULES)
VARIANTS = runpy.run_path(str(BENCHMARKS / "variants.py"))["VARIANTS"]


store_task = runpy.run_path(str(BENCHMARKS / "store_task.py"))["store_task"]


def named(name: str) -> Document:
    """An example, an edit of the persistent GEMM, or the GEMM with a store task."""
    if name in NAMES:
        return load(EXAMPLES / f"{name}.warpdraft.json")
    if name == PAIRS:
        return blackwell_pair_gemm.build(across=2).document
    if name == WIDE:
        return blackwell_scaled_gemm.build(3, 1, columns=256).document
    if name in VARIANTS:
        return VARIANTS[name](named("persistent_gemm"))
    return store_task()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`any_document` runs a test once for each document, `edit` once for each edit."""
    if "any_document" in metafunc.fixturenames:
        metafunc.parametrize("any_document", [*NAMES, *VARIANTS, PAIRS, WIDE, "store_task"], indirect=True)
    if "edit" in metafunc.fixturenames:
        metafunc.parametrize("edit", VARIANTS)


@pytest.fixture(scope="session")
def any_document(request: pytest.FixtureRequest) -> Document:
    """One of all documents."""
    return named(request.param)


@pytest.fixture(scope="session")
def tiled():
    """A function from a tile (m, n), the math task's warps and the ring's stages to the GEMM with a store task."""
    return store_task


@pytest.fixture(scope="session")
def document():
    """A function from a name to its document."""
    return named


@pytest.fixture(scope="session")
def ptx_of(tmp_path_factory):
    """PTX of documents, each compiled once for all test processes of a run."""
    folder = tmp_path_factory.getbasetemp().parent / "ptx"  # the parent is common to the processes of xdist
    folder.mkdir(exist_ok=True)

    def compile_once(document: Document, dtype: str = "") -> str:
        source = lower(document)
        known = folder / hashlib.sha256(f"{dtype} {source}".encode()).hexdigest()
        if not known.exists():
            start = getrusage(RUSAGE_CHILDREN).ru_utime
            compiled = compile_module(source, dtype)
            assert getrusage(RUSAGE_CHILDREN).ru_utime - start < 60  # seconds
            assert compiled.cubin[:4] == b"\x7fELF"
            assert compiled.resources.stack_bytes == 0, "registers were spilled"
            unfinished = known.with_suffix(f".{os.getpid()}")
            unfinished.write_text(compiled.ptx)
            unfinished.replace(known)
        return known.read_text()

    return compile_once
