"""The profile build's own text: it takes the place of the parts of `prelude` and `selfcheck` that have the same names.

The clock of the SM is read where operations begin and end; lane 0 of the warp writes the readings to a place that op, warp,
CTA and occurrence choose: nothing is carried through the loops. What has no room (later CTAs, later occurrences) is left
out. `python FILE` writes the records of its check beside the module, as FILE.profile.json.

What this takes may cost little between one wgmma and the next: a warpgroup that multiplies alone has only some
instructions' time there before the tensor cores run dry. So operations in a row share their readings (one ends where the
next begins), which are written together, without a branch: a store behind each would hold up the next reading until it has
read its registers.
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
HEADER = 4  # values of a warp before those of its ops: globaltimer and clock at its start, then at its end
MOST = 4  # readings that are written together
SILENT = ("commit_mma", "read_fragment")  # have no instruction of their own
LAYOUT = []  # rows of operations, while the kernel is traced: see `Row`


def launch(*arguments): ...


class Row:
    """Operations straight after each other, with the readings of the clock before the first and behind each."""

    def __init__(self, readings=()):
        self.readings = list(readings)
        self.step, self.ops = None, []  # each op, and the numbers of the readings at which it began and ended
        self.place = 0  # in words of 32 bits, behind the header

    @property
    def words(self):
        """Of the row's record."""
        return 2 if len(self.readings) <= 2 else MOST

    def put_behind(self, rows):
        """Take room for `STEPS` records of `MOST` words; two rows of half as many words share it."""
        halves = [row for row in rows if row.words < MOST]
        if self.words < MOST and len(halves) % 2:
            self.place = halves[-1].place + 2
        else:
            self.place = MOST * STEPS * (len(rows) - len(halves) // 2)


def stamped(method):
    """`method` with a record of when it began and ended."""

    def run(self, op, *arguments):
        row = LAYOUT[-1]
        if row.ops and row.step is not arguments[-1]:
            row = self.write_row()
        row.step = arguments[-1]
        row.readings = row.readings or [clock()]
        begin = len(row.readings) - 1
        result = method(self, op, *arguments)
        if method.__name__ not in SILENT:
            row.readings.append(clock())
        if row.ops and row.ops[-1][0] == op:  # what belongs to the operation before it
            begin = row.ops.pop()[1]
        row.ops.append((op, begin, len(row.readings) - 1))
        if len(row.readings) == MOST:
            self.write_row()
        return result

    return run


def clock():
    """The low word of the SM's clock: one CS2R, where cute.arch.clock() takes longer, as an S2UR."""
    return Int32(cute.arch.clock64())


@dataclass(frozen=True)  # frozen: the DSL takes the object as constant inside run-time loops
class Ops:
    """One method for each kind of operation: `op` is its id in the schedule, `step` how often it ran before in this warp."""

    records: cute.Pointer
    warp_idx: Int32

    def end_row(self):
        """A loop follows, or the end of a block: what comes then does not begin where the last operation ended."""
        self.write_row()
        LAYOUT[-1].readings = []

    def write_row(self):
        """Write the readings since the last time; the next row begins with the last of them, as a branch may."""
        *before, row = LAYOUT
        if row.ops:
            row.put_behind(before)
            assert row.place + MOST * STEPS <= 2 * (values_of_a_warp() - HEADER), f"no room for {row.ops}"
            values = (row.readings + row.readings[-1:] * MOST)[: row.words]
            self.write(2 * HEADER + row.place, row.step * MOST, values, row.step < STEPS)
            LAYOUT.append(Row(row.readings[-1:]))
        return LAYOUT[-1]

    def start(self):
        """The times at which the warp starts."""
        LAYOUT[:] = [Row()]
        self.write_times(0)

    def finish(self):
        """The times at which the warp has come to its end."""
        self.write_times(4)

    def write_times(self, place):
        """The global timer as two words, and this SM's clock."""
        times = cute.arch.globaltimer(), cute.arch.clock64()
        self.write(place, 0, [Int32(word) for t in times for word in (t, t >> 32)], True)

    def write(self, place, offset, values, room):
        """Lane 0 writes two or four words of this warp, if there is room: one store, without a branch."""
        cta = Int32(cute.arch.block_idx()[0])
        first = (cta * WARPS + self.warp_idx) * values_of_a_warp()
        words = ", ".join(f"{{$r{i}}}" for i in range(1, len(values) + 1))
        cute.arch.inline_ptx(
            f"st.global.v{len(values)}.b32 [{{$r0}} + {4 * place}], {{{words}}};",
            read_only_args=[self.records.toint() + Int64(first) * 8 + Int64(offset) * 4, *values],
            predicate=cutlass.Boolean(cute.arch.lane_idx() == 0) & (cta < CTAS) & room,
        )


def values_of_a_warp():
    """How many there is room for: two words for each op, of which a commit to copies needs none and what an acquire arms
    in a branch takes two, and half a row."""
    return HEADER + (len(OPS) + 1) * STEPS


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
    """The records of each warp, as values of 64 bits; 0 where nothing was written."""
    import torch

    return torch.zeros(CTAS, WARPS, values_of_a_warp(), dtype=torch.int64, device="cuda")


def profile(sizes):
    """What the last launch recorded: the times of each warp, and begin and end (SM clocks) of each op, by occurrence."""
    warps = []
    for cta, rows in enumerate(device_records().tolist()):
        for warp, values in enumerate(rows):
            if not values[0]:
                continue
            words = [word & 0xFFFFFFFF for value in values for word in (value, value >> 32)]
            ops = {}
            for row, step in ((row, step) for row in LAYOUT for step in range(STEPS)):
                first = 2 * HEADER + row.place + MOST * step
                for op, begin, end in row.ops if any(words[first : first + row.words]) else ():
                    stamps = ops.setdefault(op, [[0, 0] for _ in range(STEPS)])
                    stamps[step] = [stamps[step][0] or words[first + begin], words[first + end]]
            clocks = [values[1] & 0xFFFFFFFF, values[3] & 0xFFFFFFFF]
            times = {"globaltimer": [values[0], values[2]], "clock": clocks}
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
