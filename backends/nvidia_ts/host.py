"""Stands in for the GPU that a script's host part asks for, where there is none: enough for its kernels to be traced.

The driver's functions succeed and answer 1, `HardwareInfo` answers for the architecture that is compiled for. torch,
where it is installed, works on the CPU (`.host_torch_cpu`); where it is not, `.host_torch` stands in for it. Nothing is
launched.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from typing import Any

from .host_cuda import ARCH, DEFAULT_ARCH, multiprocessors


def prepare() -> None:
    """To be called before the DSL is imported. Does nothing but name an architecture where there is a GPU."""
    os.environ.setdefault(ARCH, DEFAULT_ARCH)
    if _has_gpu():
        return
    _driver()
    if importlib.util.find_spec("torch") is None:
        from . import host_torch as torch
    else:
        from . import host_torch_cpu as torch
    torch.install()


def finish() -> None:
    """To be called once the DSL is imported."""
    if not _has_gpu():
        _hardware()
        _launches()


@functools.cache
def _has_gpu() -> bool:
    try:
        from cuda.bindings import driver

        return driver.cuInit(0)[0] == driver.CUresult.CUDA_SUCCESS
    except Exception:  # no bindings, or no driver for them: each says so in its own way
        return False


def _driver() -> None:
    """Lets every function of the driver's interface succeed."""
    try:
        from cuda.bindings import driver
    except ImportError:
        return
    for name in dir(driver):
        function = getattr(driver, name)
        if name.startswith("cu") and callable(function) and not isinstance(function, type):
            setattr(driver, name, lambda *_, **__: (driver.CUresult.CUDA_SUCCESS, 1))


def _hardware() -> None:
    from cutlass.utils import HardwareInfo

    count = multiprocessors()

    def clusters(self: Any, cluster_size: int, stream: Any = None) -> int:
        return max(1, count // max(1, cluster_size))

    HardwareInfo.__init__ = lambda self, device_id=0: None
    for name in [n for n in vars(HardwareInfo) if n.startswith("get_")]:
        setattr(HardwareInfo, name, lambda self, *_, **__: count)
    HardwareInfo.get_max_active_clusters = clusters


def _launches() -> None:
    """Lets compiled functions return at once, those for the host too: tensors have no values."""
    from cutlass.base_dsl.jit_executor import JitCompiledFunction, JitExecutor
    from cutlass.cutlass_dsl.cuda_jit_executor import CudaDialectJitCompiledFunction

    for cls in (JitCompiledFunction, JitExecutor, CudaDialectJitCompiledFunction):
        cls.__call__ = lambda self, *_, **__: None
        cls.run_compiled_program = lambda self, *_, **__: None
