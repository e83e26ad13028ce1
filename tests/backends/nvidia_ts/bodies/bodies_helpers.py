"""Functions that bodies call, in a file of their own."""

import cutlass.cute as cute
from cutlass.experimental import primitives as prims


def copy_in(desc, dst, coords, barrier):
    prims.cp_async_bulk_tensor_shared_cta_global(dst, desc, coords, barrier)


@cute.jit
def drain(open_groups):
    cute.arch.cp_async_bulk_wait_group(open_groups, read=True)


def publish(text="fence.proxy.async.shared::cta;"):
    cute.arch.inline_ptx("fence.proxy.async.shared::cta;")
