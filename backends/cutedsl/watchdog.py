"""The watchdog build's own text: it takes the place of the parts of `prelude` and `selfcheck` that have the same names.

Every wait on an mbarrier is bounded. A warp that has waited for DEADLINE nanoseconds writes a record of four words to pinned
host memory (readable after a trap), waits as long again so that others can report, and traps. Named barriers and wgmma
cannot be bounded: a warp that is stuck there does not report.
"""

import functools
import json
import os
import sys
from dataclasses import dataclass

import cuda.bindings.driver as cuda
import cutlass
from cutlass import Int32, cute

from .selfcheck import clear, fakes, multiprocessors, views  # for linters: a module has it beside this

NAME, ARCH, INPUTS, OUTPUTS, OPS, DTYPE, WARPS = "", "sm_90a", (), (), (), cutlass.Float16, 4
DEADLINE = 200_000_000  # ns
CTAS = 4096  # that have room for a record


def launch(*arguments): ...


@dataclass(frozen=True)  # frozen: the DSL takes the object as constant inside run-time loops
class Ops:
    """One method for each kind of operation: `op` is its id in the schedule, `step` how often it ran before in this warp."""

    records: cute.Pointer
    warp_idx: Int32

    def acquire(self, op, ring, cursor, step):
        """Wait until the stage is empty."""
        self.bounded_wait(op, ring.empty + cursor.index, cursor.index, cursor.phase, step)

    def wait(self, op, ring, cursor, step):
        """Wait until the stage is full."""
        self.bounded_wait(op, ring.full + cursor.index, cursor.index, cursor.phase, step)

    def wait_parity(self, op, barrier, parity, step):
        """Wait until the phase of this parity is complete."""
        self.bounded_wait(op, barrier, Int32(0), Int32(parity), step)

    @cute.jit
    def bounded_wait(
        self, op: cutlass.Constexpr, barrier: cute.Pointer, stage: Int32, parity: Int32, step: Int32
    ):
        """Wait, but not for ever."""
        if not cute.arch.mbarrier_try_wait(barrier, parity):
            end = cute.arch.globaltimer() + DEADLINE
            done = cute.arch.mbarrier_try_wait(barrier, parity)
            while not done:
                done = cute.arch.mbarrier_try_wait(barrier, parity)
                if not done and cute.arch.globaltimer() > end:
                    self.give_up(op, stage, parity, step)

    @cute.jit
    def give_up(self, op: cutlass.Constexpr, stage: Int32, parity: Int32, step: Int32):
        """Write this warp's record, leave the others time for theirs, end the kernel."""
        cta = Int32(cute.arch.block_idx()[0])
        if cute.arch.lane_idx() == 0 and cta < CTAS:
            record = self.records + (cta * WARPS + self.warp_idx) * 4
            words = (Int32(OPS.index(op) + 1), stage, parity, step)
            for i in cutlass.range_constexpr(4):
                cute.arch.store(record + i, words[i])
            cute.arch.fence_acq_rel_sys()
        cute.arch.sync_warp()
        end = cute.arch.globaltimer() + DEADLINE
        while cute.arch.globaltimer() < end:
            cute.arch.inline_ptx("nanosleep.u32 1000;")
        cute.arch.inline_ptx("trap;")


def build(options=""):
    """Compile for tensors of any size. Needs no GPU."""
    from cutlass.cute import runtime

    more = (pointer(16), cutlass.Int32(1), runtime.make_fake_stream())
    return cute.compile(launch, *fakes(), *more, options=f"--gpu-arch {ARCH} {options}")


def bind(kernel, tensors):
    """A function that launches the kernel on contiguous torch tensors, on torch's current stream."""
    import torch

    sms = multiprocessors()
    arguments = views(tensors)
    records = pointer(host_records().data_ptr())

    def start(keep=tensors):  # the arguments hold addresses only
        clear(tensors)
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        kernel(*arguments, records, cutlass.Int32(sms), stream)

    return start


def pointer(address):
    from cutlass.cute.runtime import make_ptr

    return make_ptr(cutlass.Int32, address, cute.AddressSpace.gmem, assumed_align=16)


@functools.cache
def host_records():
    """Four words for each warp: op, stage, parity, step; op is 0 where nothing was written."""
    import torch

    return torch.zeros(CTAS, WARPS, 4, dtype=torch.int32).pin_memory()


def waiting():
    """The waits that did not end, each with the number of warps in it."""
    found = {}
    for record in host_records().flatten(0, 1).tolist():
        if record[0]:
            found[tuple(record)] = found.get(tuple(record), 0) + 1
    return [
        {"op": OPS[op - 1], "stage": stage, "parity": parity, "step": step, "warps": warps}
        for (op, stage, parity, step), warps in sorted(found.items())
    ]


def synchronize():
    """Wait for the GPU. A kernel that the watchdog has ended ends the process too: the CUDA context is dead."""
    import torch

    try:
        torch.cuda.synchronize()
    except RuntimeError:
        stuck = waiting()
        if not stuck:
            raise
        if "--json" in sys.argv:
            print(json.dumps({"kernel": NAME, "right": False, "waiting": stuck}))
        for wait in stuck if "--json" not in sys.argv else ():
            print("{warps} warps wait in op {op}: stage {stage}, parity {parity}, step {step}".format(**wait))
        sys.stdout.flush()
        os._exit(1)
