"""What `prelude` has for Blackwell alone, read as text like it: tensor memory and its MMAs, cluster launch control.

PTX that each emits: DSL 4.8.1, whose tcgen05 operations elect their lane themselves, but for commits.
"""

from dataclasses import dataclass

import cutlass
from cutlass import Int32, Int64, cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05


@dataclass(frozen=True)  # its methods go into the class of the same name in `prelude`
class Ops:
    """One method for each kind of operation: `op` is its id in the schedule, `step` how often it ran before in this warp."""

    # -- tcgen05
    def mma(self, op, instruction, columns, a, b, accumulate, step):
        """The product from `columns` of tensor memory on, plus what is there where `accumulate` holds."""
        mma = cute.make_tiled_mma(instruction)
        tile = mma.make_fragment_C(mma.partition_shape_C(instruction.shape_mnk[:2]))
        acc = cute.make_tensor(columns, tile.layout)
        mma.set(tcgen05.Field.ACCUMULATE, accumulate)
        for i in range(cute.size(a, mode=[2])):
            cute.gemm(mma, acc, a[None, None, i], b[None, None, i], acc)
            mma.set(tcgen05.Field.ACCUMULATE, True)

    def mma_scaled(self, op, instruction, columns, a, b, sfa, sfb, accumulate, step):
        """The same for operands in blocks of 32 along K that share a scale factor: a byte of each of `sfa` and `sfb`."""
        mma = cute.make_tiled_mma(instruction)
        tile = mma.make_fragment_C(mma.partition_shape_C(instruction.shape_mnk[:2]))
        acc = cute.make_tensor(columns, tile.layout)
        sfa, sfb = (cute.recast_ptr(s, dtype=cutlass.Float8E8M0FNU) for s in (sfa, sfb))
        mma.set(tcgen05.Field.ACCUMULATE, accumulate)
        for i in range(cute.size(a, mode=[2])):
            mma.set(tcgen05.Field.SFA, sfa + i)
            mma.set(tcgen05.Field.SFB, sfb + i)
            cute.gemm(mma, acc, a[None, None, i], b[None, None, i], acc)
            mma.set(tcgen05.Field.ACCUMULATE, True)

    @cute.jit
    def copy_scales(
        self,
        op: cutlass.Constexpr,
        columns: cute.Pointer,
        source: cute.Pointer,
        rows: cutlass.Constexpr,
        step: Int32,
    ):
        """For each 128 of `rows`, 32 rows of 16 bytes to 4 columns of tensor memory, the same in each quarter of lanes."""
        for i in cutlass.range_constexpr(rows // 128):
            start = Int64(((source.toint() + 512 * i) & 0x3FFFF) >> 4)
            # PTX ISA, tcgen05 shared memory descriptor: no swizzle, 8 rows of 16 bytes every 128 bytes
            descriptor = start | Int64(8 << 16 | 8 << 32 | 1 << 46)
            with cute.arch.elect_one():
                cute.arch.inline_ptx(
                    "tcgen05.cp.cta_group::1.32x128b.warpx4 [{$r0}], {$r1};",
                    read_only_args=[Int32(columns.toint() + 4 * i), descriptor],
                )

    @cute.jit
    def commit_umma(self, op: cutlass.Constexpr, barrier: cute.Pointer, pair: cutlass.Constexpr, step: Int32):
        """One arrival when all that this thread has issued is done."""
        with cute.arch.elect_one():
            tcgen05.commit(barrier, None, tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE)

    @cute.jit
    def commit_umma_ctas(
        self,
        op: cutlass.Constexpr,
        barrier: cute.Pointer,
        ctas: Int32,
        pair: cutlass.Constexpr,
        step: Int32,
    ):
        """The same on the barrier of each of the CTAs, given as bits."""
        with cute.arch.elect_one():
            tcgen05.commit(barrier, ctas, tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE)

    def tmem_alloc(self, op, columns, address, pair, step):
        """This warp allocates; where it got them is written to shared memory."""
        cute.arch.alloc_tmem(columns, address, is_two_cta=pair)

    def tmem_relinquish(self, op, pair, step):
        cute.arch.relinquish_tmem_alloc_permit(is_two_cta=pair)

    def tmem_dealloc(self, op, columns, start, pair, step):
        cute.arch.dealloc_tmem(start, columns, is_two_cta=pair)

    def tmem_load(self, op, copy, lane, start, columns, step):
        """The columns of this thread's lane, in registers once the warp has waited for its loads."""
        source = copy.get_slice(lane).partition_S(columns_at(start, columns))
        values = cute.make_rmem_tensor(((columns, 1), 1, 1), cutlass.Float32)
        cute.copy(copy, source, values)
        return values

    def tmem_store(self, op, copy, lane, fragment, start, columns, step):
        """A fragment to the columns of this thread's lane, there once the warp has waited for its stores."""
        cute.copy(copy, fragment, copy.get_slice(lane).partition_D(columns_at(start, columns)))

    def tmem_clear(self, op, lane, start, columns, step):
        """Zeros to the columns of this thread's lane, there once the warp has waited for its stores."""
        wide = 16 if columns % 32 else 32  # columns at a time
        copy, zeros = tmem_stores(wide), cute.make_rmem_tensor(((wide, 1), 1, 1), cutlass.Float32)
        zeros.fill(0.0)
        for first in range(0, columns, wide):
            cute.copy(copy, zeros, copy.get_slice(lane).partition_D(columns_at(start + first, wide)))

    def wait_tmem_loads(self, op, step):
        cute.arch.fence_view_async_tmem_load()

    def wait_tmem_stores(self, op, step):
        cute.arch.fence_view_async_tmem_store()

    def tcgen05_fence_before(self, op, step):
        """What this thread did in tensor memory comes before the barrier that follows."""
        cute.arch.inline_ptx("tcgen05.fence::before_thread_sync;")

    def tcgen05_fence_after(self, op, step):
        """What this thread does in tensor memory comes after the barrier before."""
        cute.arch.inline_ptx("tcgen05.fence::after_thread_sync;")

    def store_row(self, op, copy, fragment, target, step):
        """Convert to the target's type and store this thread's row."""
        out = cute.make_rmem_tensor(fragment.shape, target.element_type)
        out.store(fragment.load().to(target.element_type))
        cute.copy(copy, copy.retile(out), target)

    # -- cluster launch control, dependent launches
    @cute.jit
    def request_tile(
        self,
        op: cutlass.Constexpr,
        barrier: cute.Pointer,
        response: cute.Pointer,
        cluster: cutlass.Constexpr,
        step: Int32,
    ):
        """Ask for the launch of a cluster that has not started; the answer goes to every CTA of this one."""
        with cute.arch.elect_one():
            cute.arch.issue_clc_query(barrier, response, multicast=cluster > 1)

    def read_tile(self, op, response, cluster, fence, step):
        """The number of the cluster that this one takes over, -1 where none was left."""
        first, _, _, found = cute.arch.clc_response(response)
        if fence:
            cute.arch.fence_proxy("async.shared", space="cta")
        return (first // cluster + 1) * found - 1

    def wait_grid(self, op, step):
        """Wait until the grid before this one is done and its memory is visible."""
        cute.arch.griddepcontrol_wait()

    def launch_dependents(self, op, step):
        """The grid behind this one may be launched."""
        cute.arch.griddepcontrol_launch_dependents()


def descriptors(staged):
    """The descriptors of (rows, columns, stage) in shared memory, by (.., 32 bytes, stage): the same for A and for B."""
    source, major = tcgen05.OperandSource.SMEM, OperandMajorMode.K
    dtype, rows = staged.element_type, cute.size(staged, mode=[0])
    kind, types = tcgen05.MmaF16BF16Op, (dtype, cutlass.Float32)
    if dtype.width == 8:
        kind, types = tcgen05.MmaF8F6F4Op, (dtype, dtype, cutlass.Float32)
    shape = (128, rows, 256 // dtype.width)
    one = kind(*types, shape, tcgen05.CtaGroup.ONE, source, major, major)
    mma = cute.make_tiled_mma(one)
    return mma.make_fragment_B(mma.get_slice(0).partition_B(staged))


def columns_at(start, columns):
    """All lanes of `columns` columns of tensor memory: an address has the lane in its upper half."""
    return cute.make_tensor(start, cute.make_layout((128, columns), stride=(1 << 16, 1)))


def tmem_loads(columns):
    """The copy of `columns` columns to registers, a lane for each of 128 threads."""
    atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition(columns)), cutlass.Float32)
    anywhere = cute.make_ptr(cutlass.Float32, 0, cute.AddressSpace.tmem, assumed_align=16)
    return tcgen05.make_tmem_copy(atom, columns_at(anywhere, columns))


def tmem_stores(columns):
    """The copy of registers to `columns` columns, a lane from each of 128 threads."""
    atom = cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition(columns)), cutlass.Float32)
    anywhere = cute.make_ptr(cutlass.Float32, 0, cute.AddressSpace.tmem, assumed_align=16)
    return tcgen05.make_tmem_copy(atom, columns_at(anywhere, columns))


def row_stores(loads, dtype):
    """The copy of what `loads` brought to shared memory, 16 bytes at a time."""
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=128)
    return cute.make_tiled_copy_D(atom, loads)
