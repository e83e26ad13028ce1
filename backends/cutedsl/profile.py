"""The profile build's own text: it takes the place of the parts of `prelude` and `selfcheck` that have the same names.

Each operation reads the clock of its SM before and after it, and lane 0 of the warp writes both as one record of eight bytes
to a place that op, warp, CTA and occurrence choose: nothing is carried through the loops. What has no room (later CTAs,
later occurrences) is left out. `python FILE` writes the records of its check beside the module, as FILE.profile.json.
"""

import functools
import json
import math
import os
from dataclasses import dataclass

import cuda.bindings.driver as cuda
import cutlass
from cutlass import Int32, Int64, cute

from .selfcheck import (  # for linters: a module has them beside this
    clear,
    fakes,
    make_tensors,
    multiprocessors,
    reference,
    synchronize,
    views,
)

NAME, ARCH, INPUTS, OUTPUTS, OPS, DTYPE, WARPS = "", "sm_90a", (), (), (), cutlass.Float16, 4
CTAS = 160  # that have room for records
STEPS = 64  # occurrences of an op in a warp that have room
HEADER = 4  # records of a warp before those of its ops: globaltimer and clock at its start, then at its end


def launch(*arguments): ...


def stamped(method):
    """`method` with a record of when it began and ended."""

    def run(self, op, *arguments):
        begin = cute.arch.clock()
        result = method(self, op, *arguments)
        self.stamp(op, Int32(arguments[-1]), begin, cute.arch.clock())
        return result

    return run


@dataclass(frozen=True)  # frozen: the DSL takes the object as constant inside run-time loops
class Ops:
    """One method for each kind of operation: `op` is its id in the schedule, `step` how often it ran before in this warp."""

    records: cute.Pointer
    warp_idx: Int32

    @cute.jit
    def stamp(self, op: cutlass.Constexpr, step: Int32, begin: Int32, end: Int32):
        """Write one record: begin in the low word, end in the high one."""
        if step < STEPS:
            both = (Int64(end) << 32) | (Int64(begin) & 0xFFFFFFFF)
            self.write(HEADER + OPS.index(op) * STEPS + step, both)

    def start(self):
        """The times at which the warp starts."""
        self.write(Int32(0), cute.arch.globaltimer())
        self.write(Int32(1), Int64(cute.arch.clock()))

    def finish(self):
        """The times at which the warp has come to its end."""
        self.write(Int32(2), cute.arch.globaltimer())
        self.write(Int32(3), Int64(cute.arch.clock()))

    @cute.jit
    def write(self, place: Int32, value: Int64):
        """Lane 0 writes record `place` of this warp."""
        cta = Int32(cute.arch.block_idx()[0])
        if cute.arch.lane_idx() == 0 and cta < CTAS:
            first = (cta * WARPS + self.warp_idx) * (HEADER + len(OPS) * STEPS)
            cute.arch.store(self.records + first + place, value)


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
    records = pointer(device_records().data_ptr())

    def start(keep=tensors):  # the arguments hold addresses only
        clear(tensors)
        stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
        kernel(*arguments, records, cutlass.Int32(sms), stream)

    return start


def pointer(address):
    from cutlass.cute.runtime import make_ptr

    return make_ptr(cutlass.Int64, address, cute.AddressSpace.gmem, assumed_align=16)


@functools.cache
def device_records():
    """The records of each warp; 0 where nothing was written."""
    import torch

    return torch.zeros(CTAS, WARPS, HEADER + len(OPS) * STEPS, dtype=torch.int64, device="cuda")


def profile(sizes):
    """What the last launch recorded: the times of each warp, and begin and end (SM clocks) of each op, by occurrence."""
    warps = []
    for cta, rows in enumerate(device_records().tolist()):
        for warp, row in enumerate(rows):
            if not row[0]:
                continue
            ops = {}
            for i, op in enumerate(OPS):
                first = HEADER + i * STEPS
                stamps = [[r & 0xFFFFFFFF, (r >> 32) & 0xFFFFFFFF] for r in row[first : first + STEPS]]
                if any(begin or end for begin, end in stamps):
                    ops[op] = stamps
            clocks = [row[1] & 0xFFFFFFFF, row[3] & 0xFFFFFFFF]
            times = {"globaltimer": [row[0], row[2]], "clock": clocks}
            warps.append({"cta": cta, "warp": warp, **times, "ops": ops})
    return {"kernel": NAME, "sizes": sizes, "steps": STEPS, "warps": warps}


def check(kernel, sizes):
    """Run once, and write what was recorded; the relative error (Frobenius norm) of the worst output."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    inputs, outputs = make_tensors(sizes)
    device_records().zero_()
    bind(kernel, inputs + outputs)()
    synchronize()
    with open(os.path.splitext(__file__)[0] + ".profile.json", "w") as file:
        sms = torch.cuda.get_device_properties(0).multi_processor_count
        json.dump(profile(sizes) | {"sms": sms}, file)
    expected = reference(*inputs)
    errors = [
        ((o.float() - e.float()).norm() / e.float().norm()).item()
        for o, e in zip(outputs, expected, strict=True)
    ]
    return max(errors, key=lambda error: (math.isnan(error), error))
