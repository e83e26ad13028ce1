"""Kernels of a user's own that hold a schedule: ``python own_kernel.py EXAMPLE.py FILE`` compiles one to FILE.ptx and
FILE.cubin, without a GPU.

Without FILE it runs a GEMM on the GPU, and ends with 1 where the result is wrong.
"""

import os
import runpy
import sys
from pathlib import Path

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")

import cuda.bindings.driver as cuda
from cutlass import Float16, Int32, cute
from cutlass.cute import runtime


def own_kernel(manager):
    """The launch of a kernel that is ``manager``'s schedule, for as many tensors as that has."""

    @cute.kernel
    def kernel(arguments):
        manager.run(arguments)

    @cute.jit
    def launch(tensors: list[cute.Tensor], sms: Int32, stream: cuda.CUstream):
        arguments, options = manager.prepare(*tensors, sms=sms)
        kernel(arguments).launch(stream=stream, **options)

    return launch


def compiled(manager):
    """It, compiled; all tensors are of fp16, with rows contiguous."""
    ranks = [len(tensor.shape) for tensor in manager.document.kernel.tensors]
    tensors = [
        runtime.make_fake_compact_tensor(
            Float16,
            (*(cute.sym_int() for _ in range(rank - 1)), cute.sym_int(divisibility=8)),
            stride_order=tuple(reversed(range(rank))),
            assumed_align=16,
        )
        for rank in ranks
    ]
    keep = cute.KeepPTX(True), cute.KeepCUBIN(True)
    return cute.compile[keep](own_kernel(manager), tensors, Int32(1), runtime.make_fake_stream())


def error(manager):
    """The relative error of a GEMM of this schedule, ragged on all sides."""
    import torch
    from cutlass.cute.runtime import from_dlpack

    torch.backends.cuda.matmul.allow_tf32 = False
    m, n, k = 1000, 1016, 520
    a, b = (torch.randn(rows, k, dtype=torch.float16, device="cuda") for rows in (m, n))
    c = torch.full((m, n), float("nan"), dtype=torch.float16, device="cuda")
    views = [from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1) for t in (a, b, c)]
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
    own_kernel(manager)(views, Int32(sms), stream)
    torch.cuda.synchronize()
    expected = a.float() @ b.float().T
    return ((c.float() - expected).norm() / expected.norm()).item()


def main(example, target=None):
    """Run or compile ``example``; the exit code."""
    manager = runpy.run_path(example)["build"]()
    if target is None:
        return 0 if error(manager) < 5e-4 else 1
    kernel = compiled(manager)
    Path(f"{target}.ptx").write_text(kernel.__ptx__)
    Path(f"{target}.cubin").write_bytes(kernel.__cubin__)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
