"""Stands in for the GPU that a script's host part asks for, where there is none: enough for its kernels to be traced.

The driver's functions succeed and answer 1, `HardwareInfo` answers for the architecture that is compiled for. torch,
where it is installed, works on the CPU; where it is not, `.host_torch` stands in for it. Nothing is launched.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from typing import Any

ARCH = "CUTE_DSL_ARCH"
DEFAULT_ARCH = "sm_100a"
# Streaming multiprocessors (H100 and B200 data sheets): only grid sizes depend on them.
MULTIPROCESSORS = {"sm_90": 132, "sm_100": 148}


def prepare() -> None:
    """To be called before the DSL is imported. Does nothing but name an architecture where there is a GPU."""
    os.environ.setdefault(ARCH, DEFAULT_ARCH)
    if _has_gpu():
        return
    _driver()
    if importlib.util.find_spec("torch") is None:
        from . import host_torch

        host_torch.install()
    else:
        _torch_on_cpu()


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

    arch = os.environ[ARCH].rstrip("af")
    count = MULTIPROCESSORS.get(arch, MULTIPROCESSORS["sm_100"])

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


def _torch_on_cpu() -> None:
    """Lets the installed torch do on the CPU what is asked of a CUDA device."""
    import torch
    from torch.overrides import TorchFunctionMode

    class OnCpu(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if getattr(function, "__name__", "") == "cuda":
                return args[0]
            moved = {k: "cpu" if k == "device" and _is_cuda(v) else v for k, v in (kwargs or {}).items()}
            return function(*("cpu" if _is_cuda(a) else a for a in args), **moved)

    def _is_cuda(value: Any) -> bool:
        named = isinstance(value, str | torch.device)
        return named and str(value).startswith("cuda")

    OnCpu().__enter__()
    for name in ("is_available", "synchronize", "init", "set_device", "empty_cache"):
        setattr(torch.cuda, name, lambda *_, **__: True)
    stream = type("Stream", (), {"cuda_stream": 0, "__enter__": lambda s: s, "__exit__": lambda s, *_: None})
    for name in ("current_stream", "default_stream", "Stream", "stream"):
        setattr(torch.cuda, name, lambda *_, **__: stream())
    torch.cuda.get_device_capability = lambda *_, **__: _capability()
    torch.cuda.device_count = lambda: 1
    torch.cuda.current_device = lambda: 0


def _capability() -> tuple[int, int]:
    number = os.environ[ARCH].removeprefix("sm_").rstrip("af")
    return int(number[:-1]), int(number[-1])
