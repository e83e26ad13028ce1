"""The jitter build's own text: it takes the place of the parts of `prelude` and `selfcheck` that have the same names.

Before every second operation, on average, a warp sleeps for a while. Seed, warp, CTA, op and occurrence choose how long: the
warps' order in time differs from run to run, so that a race has a chance to show. The check runs every seed, and keeps the
worst error. All lanes of a warp sleep alike.
"""

import math
from dataclasses import dataclass

import cuda.bindings.driver as cuda
import cutlass
from cutlass import Int32, Uint32, cute

from .selfcheck import (  # for linters: a module has them beside this
    clear,
    fakes,
    make_tensors,
    multiprocessors,
    reference,
    synchronize,
    views,
)

ARCH, INPUTS, OUTPUTS, OPS, DTYPE = "sm_90a", (), (), (), cutlass.Float16
SEEDS = 8  # that a check runs
LONGEST = 2047  # ns of one delay, a power of two less one: a few times what a barrier or a copy takes


def launch(*arguments): ...


def delayed(method):
    """`method` behind a delay."""

    def run(self, op, *arguments):
        self.delay(op, Int32(arguments[-1]))
        return method(self, op, *arguments)

    return run


@dataclass(frozen=True)  # frozen: the DSL takes the object as constant inside run-time loops
class Ops:
    """One method for each kind of operation: `op` is its id in the schedule, `step` how often it ran before in this warp."""

    seed: Int32
    warp_idx: Int32

    @cute.jit
    def delay(self, op: cutlass.Constexpr, step: Int32):
        """Sleep, or not: two rounds of a multiplicative hash, by large odd numbers (those of xxHash's 32-bit form)."""
        first, second, third = Uint32(0x9E3779B1), Uint32(0x85EBCA77), Uint32(0xC2B2AE3D)
        x = Uint32(self.seed * 64 + self.warp_idx) * first + Uint32(cute.arch.block_idx()[0]) * third
        x = x + Uint32(step) * second + Uint32(OPS.index(op) * 0x9E3779B1 & 0xFFFFFFFF)
        x = (x ^ (x >> 15)) * second
        x = (x ^ (x >> 13)) * third
        if (x >> 31) == 1:
            cute.arch.inline_ptx("nanosleep.u32 {$r0};", read_only_args=[Uint32((x >> 16) & LONGEST)])


def build(options=""):
    """Compile for tensors of any size. Needs no GPU."""
    from cutlass.cute import runtime

    more = (cutlass.Int32(1), cutlass.Int32(1), runtime.make_fake_stream())
    return cute.compile(launch, *fakes(), *more, options=f"--gpu-arch {ARCH} {options}")


def bind(kernel, tensors, seed=0):
    """A function that launches the kernel on contiguous torch tensors, on torch's current stream."""
    import torch

    sms = multiprocessors()
    arguments = views(tensors)

    def start(keep=tensors):  # the arguments hold addresses only
        clear(tensors)
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        kernel(*arguments, cutlass.Int32(seed), cutlass.Int32(sms), stream)

    return start


def check(kernel, sizes):
    """Run once with each seed; the relative error (Frobenius norm) of the worst output."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    errors = []
    for seed in range(SEEDS):
        inputs, outputs = make_tensors(sizes)
        bind(kernel, inputs + outputs, seed)()
        synchronize()
        expected = reference(*inputs)
        errors += [
            ((o.float() - e.float()).norm() / e.float().norm()).item()
            for o, e in zip(outputs, expected, strict=True)
        ]
    return max(errors, key=lambda error: (math.isnan(error), error))
