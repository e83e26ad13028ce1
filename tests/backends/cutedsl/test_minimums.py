"""A module refuses sizes below a symbol's minimum, or is not written where it could not; and says why a run failed."""

import importlib.util
from dataclasses import replace

import pytest

from warpdraft.backends.cutedsl import LoweringError, lower
from warpdraft.backends.cutedsl.run import run_module, telling
from warpdraft.backends.emulator import EmulationError, emulate
from warpdraft.core.expressions import symbol
from warpdraft.core.registers import entry_registers


def with_minimum(document, name, least):
    """``document`` with another minimum of a symbol, wherever it is used."""

    def changed(value):
        if getattr(value, "name", None) == name and hasattr(value, "min"):
            return replace(value, min=least)
        if isinstance(value, tuple):
            return tuple(changed(v) for v in value)
        if hasattr(value, "__dataclass_fields__"):
            return replace(value, **{f: changed(getattr(value, f)) for f in value.__dataclass_fields__})
        return value

    return changed(document)


def test_trip_counts_and_sizes(document):
    gemm = document("persistent_gemm")
    source = lower(with_minimum(with_minimum(gemm, "k_tiles", 3), "M", 128))
    assert "if -(-K // 64) < 3:" in source and 'raise ValueError("k_tiles must be at least 3")' in source
    assert "if M < 128:" in source and 'raise ValueError("M must be at least 128")' in source
    with pytest.raises(EmulationError, match="M is 64; the kernel needs at least 128"):
        emulate(with_minimum(gemm, "M", 128), {"M": 64})


def test_tiles_of_a_cta(document):
    gemm = document("persistent_gemm")
    assert lower(with_minimum(gemm, "tiles", 1)) == lower(gemm)  # no CTA is launched without a tile
    with pytest.raises(LoweringError, match="tiles must be at least 2: how many tiles a CTA gets depends"):
        lower(with_minimum(gemm, "tiles", 2))
    with pytest.raises(EmulationError, match="tiles is 1; the kernel needs at least 2"):
        emulate(with_minimum(gemm, "tiles", 2), {"M": 128, "N": 512})
    assert emulate(with_minimum(gemm, "tiles", 2), {"M": 256, "N": 512}).verdict == "right"


@pytest.mark.skipif(importlib.util.find_spec("cutlass") is None, reason="the CuTe DSL is not installed")
@pytest.mark.parametrize(
    "sizes, message",
    [
        ({"M": 0}, "M must be at least 1"),
        ({"N": 0}, "N must be at least 1"),
        ({"K": 0}, "k_tiles must be at least 1"),
        ({"K": 12}, "rows of a must be a multiple of 8 elements"),
        ({"N": 4}, "rows of c must be a multiple of 8 elements"),
    ],
)
@pytest.mark.parametrize("name", ["persistent_gemm", "ping_pong_gemm"])
def test_sizes_that_cannot_be_are_refused_before_anything_runs(document, name, sizes, message):
    found = run_module(lower(document(name)), {"M": 128, "N": 128, "K": 64} | sizes)
    assert found.state == "failed" and "error: {" in found.message and found.message.endswith(message)


def test_what_the_module_cannot_know(document):
    gemm = document("persistent_gemm")
    counts = (("k_tiles", symbol("depth")), *(c for c in gemm.kernel.trip_counts if c[0] != "k_tiles"))
    hidden = replace(gemm, kernel=replace(gemm.kernel, trip_counts=counts))
    with pytest.raises(LoweringError, match=r"nothing says what 'depth' is"):
        lower(with_minimum(hidden, "k_tiles", 1))


CUDA = """Traceback (most recent call last):
  File "kernel.py", line 400, in <module>
    sys.exit(main())
  File "kernel.py", line 210, in synchronize
    torch.cuda.synchronize()
torch.AcceleratorError: CUDA error: an illegal memory access was encountered
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.

"""


@pytest.mark.parametrize(
    "err, line",
    [
        (CUDA, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"),
        ("usage: kernel.py [-h]\nkernel.py: error: unknown: Q\n", "kernel.py: error: unknown: Q"),
        ("a warning\nthe document names no reference\n", "the document names no reference"),
        ("x\nModuleNotFoundError: No module named 'torch'\n", "ModuleNotFoundError: No module named 'torch'"),
        ("Traceback\nAssertionError\n", "AssertionError"),
        ("what happened\nCompile with `TORCH_USE_CUDA_DSA` to enable assertions.\n", "what happened"),
        ("", ""),
    ],
)
def test_the_telling_line(err, line):
    assert telling(err) == line


def test_a_failing_module_says_why():
    source = f"import sys\nsys.stderr.write({CUDA!r})\nsys.exit(3)\n"
    found = run_module(source)
    assert (found.state, found.message) == ("failed", CUDA.splitlines()[5])
    assert run_module("raise SystemExit(3)").message == "ended with status 3"


def test_registers_at_launch_are_one_fact(document):
    assert [entry_registers(threads) for threads in (128, 256, 384, 512, 1024)] == [248, 248, 168, 128, 64]
    gemm = document("persistent_gemm")
    kept = replace(gemm, tasks=tuple(replace(t, num_registers=168) for t in gemm.tasks))
    assert "setmaxregister_increase" not in lower(kept) and "setmaxregister_decrease(168)" in lower(kept)
