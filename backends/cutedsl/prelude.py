"""The fixed part of a generated module, read as text: one method per kind of operation, and what set-up needs.

Nothing here is imported or run by warpdraft; `prelude_text` copies the parts that a kernel uses. The first argument of every
operation is its id in the schedule, the last its occurrence in this warp. PTX that each emits: DSL 4.8.1.
"""

import itertools
from dataclasses import dataclass

import cutlass
from cutlass import Int32, cute
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup

DTYPE = cutlass.Float16


@dataclass(frozen=True)
class Ring:
    """The mbarriers of a pipeline's stages."""

    full: cute.Pointer
    empty: cute.Pointer


@dataclass(frozen=True)  # frozen: the DSL takes the object as constant inside run-time loops
class Ops:
    """One method for each kind of operation: `op` is its id in the schedule, `step` how often it ran before in this warp."""

    # -- mbarriers
    def acquire(self, op, ring, cursor, step):
        """Wait until the stage is empty."""
        cute.arch.mbarrier_wait(ring.empty + cursor.index, cursor.phase)

    def try_acquire(self, op, ring, cursor, step):
        """One attempt, which does not block; the acquire that follows decides."""
        cute.arch.mbarrier_try_wait(ring.empty + cursor.index, cursor.phase)

    def wait(self, op, ring, cursor, step):
        """Wait until the stage is full."""
        cute.arch.mbarrier_wait(ring.full + cursor.index, cursor.phase)

    def try_wait(self, op, ring, cursor, step):
        """One attempt, which does not block; the wait that follows decides."""
        cute.arch.mbarrier_try_wait(ring.full + cursor.index, cursor.phase)

    @cute.jit
    def arm(self, op: cutlass.Constexpr, barrier: cute.Pointer, tx_bytes: cutlass.Constexpr, step: Int32):
        """The producer's arrival, which an acquire makes at once, with the bytes that its copies will bring."""
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, tx_bytes)

    @cute.jit
    def arm_ctas(
        self,
        op: cutlass.Constexpr,
        barrier: cute.Pointer,
        ctas: Int32,
        tx_bytes: cutlass.Constexpr,
        step: Int32,
    ):
        """The same on the barrier of each of the CTAs, given as bits: lane r arms CTA r."""
        lane = cute.arch.lane_idx()
        if (ctas >> lane) & 1:
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, tx_bytes, lane)

    @cute.jit
    def expect(self, op: cutlass.Constexpr, barrier: cute.Pointer, tx_bytes: cutlass.Constexpr, step: Int32):
        """One arrival, and the bytes that copies will bring in this phase."""
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, tx_bytes)

    @cute.jit
    def expect_only(
        self, op: cutlass.Constexpr, barrier: cute.Pointer, tx_bytes: cutlass.Constexpr, step: Int32
    ):
        """The bytes that copies will bring in this phase; no arrival."""
        with cute.arch.elect_one():
            cute.arch.mbarrier_expect_tx(barrier, tx_bytes)

    @cute.jit
    def arrive(self, op: cutlass.Constexpr, barrier: cute.Pointer, step: Int32):
        """One arrival, by one lane of the warp."""
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(barrier)

    @cute.jit
    def arrive_count(
        self, op: cutlass.Constexpr, barrier: cute.Pointer, count: cutlass.Constexpr, step: Int32
    ):
        """`count` arrivals, by one lane of the warp."""
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive(barrier, arrive_count=count)

    def arrive_threads(self, op, barrier, step):
        """One arrival by each lane of the warp."""
        cute.arch.mbarrier_arrive(barrier)

    @cute.jit
    def arrive_ctas(
        self,
        op: cutlass.Constexpr,
        barrier: cute.Pointer,
        ctas: Int32,
        count: cutlass.Constexpr,
        step: Int32,
    ):
        """`count` arrivals on the barrier of each of the CTAs, given as bits: lane r signals CTA r, for all lanes."""
        cute.arch.sync_warp()
        lane = cute.arch.lane_idx()
        if (ctas >> lane) & 1:
            cute.arch.mbarrier_arrive(barrier, lane, arrive_count=count)

    def wait_parity(self, op, barrier, parity, step):
        """Wait until the phase of this parity is complete."""
        cute.arch.mbarrier_wait(barrier, parity)

    # -- bulk tensor copies
    def tma_load(self, op, atom, source, target, barrier, step):
        """One lane starts the copy; its bytes count on the barrier."""
        cute.copy(atom, source, target, tma_bar_ptr=barrier)

    def tma_multicast(self, op, atom, source, target, barrier, ctas, step):
        """One lane starts the copy to the same place in each of the CTAs; its bytes count on each one's barrier."""
        cute.copy(atom, source, target, tma_bar_ptr=barrier, mcast_mask=cutlass.Int16(ctas))

    def bulk_store(self, op, atom, source, target, step):
        """One lane starts the copy, in its open bulk group."""
        cute.copy(atom, source, target)

    def commit_store(self, op, step):
        cute.arch.cp_async_bulk_commit_group()

    def wait_store(self, op, pending, step):
        """Wait until all but the newest `pending` groups are complete."""
        cute.arch.cp_async_bulk_wait_group(pending, read=False)

    def wait_store_read(self, op, pending, step):
        """Wait until all but the newest `pending` groups have read their sources."""
        cute.arch.cp_async_bulk_wait_group(pending, read=True)

    # -- wgmma
    def wgmma(self, op, instruction, warpgroups, acc, a, b, accumulate, step):
        """acc = a b, plus acc where `accumulate` holds: one instruction for each 16 columns of a."""
        mma = cute.make_tiled_mma(instruction, warpgroups)
        mma.set(warpgroup.Field.ACCUMULATE, accumulate)
        warpgroup.fence()
        for i in range(cute.size(a, mode=[2])):
            cute.gemm(mma, acc, a[None, None, i], b[None, None, i], acc)
            mma.set(warpgroup.Field.ACCUMULATE, True)

    def commit_mma(self, op, step):
        warpgroup.commit_group()

    def wait_mma(self, op, pending, step):
        """Wait until all but the newest `pending` groups are complete."""
        warpgroup.wait_group(pending)

    # -- registers to shared memory
    def read_fragment(self, op, acc, subtile, subtiles, step):
        """The columns of one of `subtiles` equal parts of the accumulator: a view, nothing moves."""
        m, n, columns = acc.shape[0]
        layout = cute.make_layout(((m, n, columns // subtiles), *acc.shape[1:]), stride=acc.stride)
        return cute.make_tensor(acc.iterator + subtile * (cute.size(acc, mode=[0]) // subtiles), layout)

    def zero_fragment(self, op, total, step):
        total.fill(0.0)

    def add_fragment(self, op, total, fragment, step):
        """total += fragment, in fp32: tensor cores keep fewer bits of what they add up."""
        total.store(total.load() + fragment.load())

    def add_row(self, op, fragment, own, first, vector, step):
        """fragment + vector[column of the output]; columns beyond its end get its last element, and are never stored."""
        out = cute.make_rmem_tensor(fragment.shape, cutlass.Float32)
        (pair, halves, eights), down, across = fragment.shape
        last = cute.size(vector) - 1
        for n, e, p in itertools.product(range(across), range(eights), range(pair)):
            column = first + own[(p, 0, e), 0, n][1]
            value = vector[cutlass.min(column, last)].to(cutlass.Float32)
            for h, m in itertools.product(range(halves), range(down)):
                out[(p, h, e), m, n] = fragment[(p, h, e), m, n] + value
        return out

    def add_tile(self, op, fragment, own, step):
        """fragment + the part of a stage that lies where its values do."""
        added = cute.make_rmem_tensor(fragment.shape, own.element_type)
        cute.autovec_copy(own, added)
        out = cute.make_rmem_tensor(fragment.shape, cutlass.Float32)
        out.store(fragment.load() + added.load().to(cutlass.Float32))
        return out

    def own(self, op, function, *arguments):
        """A body of the schedule's author; the last argument is `step`."""
        return function(*arguments[:-1])

    def activate(self, op, function, fragment, step):
        """The function of every value."""
        out = cute.make_rmem_tensor(fragment.shape, cutlass.Float32)
        for i in range(cute.size(fragment)):
            out[i] = function(fragment[i])
        return out

    def store_fragment(self, op, copy, fragment, target, step):
        """Convert to the target's type and store with stmatrix."""
        out = cute.make_rmem_tensor(fragment.shape, target.element_type)
        out.store(fragment.load().to(target.element_type))
        values = copy.retile(out)
        for i in range(cute.size(target, mode=[2])):
            cute.copy(copy, values[(None, i), None, 0], target[None, None, i])

    def store_values(self, op, fragment, own, step):
        """Store each value where it lies in the target; neighbours together."""
        out = cute.make_rmem_tensor(fragment.shape, own.element_type)
        out.store(fragment.load().to(own.element_type))
        cute.autovec_copy(out, own)

    # -- other synchronisation
    def fence_proxy_async(self, op, step):
        """Make this thread's shared memory accesses visible to the bulk copy and wgmma engines."""
        cute.arch.fence_proxy("async.shared", space="cta")

    def sync(self, op, barrier_id, threads, step):
        cute.arch.barrier(barrier_id=barrier_id, number_of_threads=threads)

    def sync_arrive(self, op, barrier_id, threads, step):
        cute.arch.barrier_arrive(barrier_id=barrier_id, number_of_threads=threads)

    def wgmma_fence(self, op, step):
        cute.nvgpu.warpgroup.fence()

    def sync_warp(self, op, step):
        cute.arch.sync_warp()

    def cluster_arrive(self, op, step):
        cute.arch.cluster_arrive()

    def cluster_wait(self, op, step):
        cute.arch.cluster_wait()

    def cluster_sync(self, op, step):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()


def swizzled(rows, columns, dtype):
    """One stage of rows x columns, rows contiguous, in the widest swizzle that divides a row: what tensor cores read."""
    swizzle, unit = widest_swizzle(columns, dtype)
    rows_of_8 = cute.make_layout((8, unit), stride=(unit, 1))
    atom = cute.make_composed_layout(swizzle, 0, rows_of_8)
    return cute.tile_to_shape(atom, (rows, columns), order=(0, 1))


def swizzled_columns(rows, columns, dtype):
    """The same with columns contiguous."""
    swizzle, unit = widest_swizzle(rows, dtype)
    columns_of_8 = cute.make_layout((unit, 8), stride=(1, unit))
    atom = cute.make_composed_layout(swizzle, 0, columns_of_8)
    return cute.tile_to_shape(atom, (rows, columns), order=(1, 0))


def widest_swizzle(elements, dtype):
    """The widest swizzle that divides so many elements side by side, and the elements of its unit."""
    bits = elements * dtype.width
    swizzle, unit = next((s, u) for s, u in ((3, 1024), (2, 512), (1, 256)) if bits % u == 0)
    return cute.make_swizzle(swizzle, 4, 3), unit // dtype.width


def plain(rows, columns, dtype):
    """One stage of rows x columns, rows contiguous."""
    return cute.make_ordered_layout((rows, columns), order=(1, 0))


def plain_columns(rows, columns, dtype):
    """One stage of rows x columns, columns contiguous."""
    return cute.make_ordered_layout((rows, columns), order=(0, 1))


def stages_at(storage, layout, stages, stage_bytes, dtype):
    """The tensor (rows, columns, stage) at `storage` with a stage of `layout` every `stage_bytes`."""
    stage = cute.make_layout(stages, stride=stage_bytes * 8 // dtype.width)
    if isinstance(layout, cute.ComposedLayout):
        return cute.make_tensor(
            cute.recast_ptr(storage, layout.inner, dtype=dtype), cute.append(layout.outer, stage)
        )
    return cute.make_tensor(cute.recast_ptr(storage, dtype=dtype), cute.append(layout, stage))


def own_values(tensor, columns, warpgroups, thread):
    """The part of (rows, columns, ..) that lies where `thread` holds values of an accumulator."""
    source, major = warpgroup.OperandSource.SMEM, OperandMajorMode.K
    shape = (64, columns, 16)
    one = warpgroup.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, shape, source, major, major)
    return cute.make_tiled_mma(one, warpgroups).get_slice(thread).partition_C(tensor)


def relu(x):
    return cute.arch.fmax(x, 0.0)


def gelu(x):
    """By tanh, as torch's approximate="tanh"."""
    return 0.5 * x * (1.0 + cute.math.tanh(0.7978845608 * (x + 0.044715 * x * x * x), fastmath=True))


def silu(x):
    """By an approximate reciprocal: a division is a call for each value."""
    return x * cute.arch.rcp_approx(1.0 + cute.math.exp(-x, fastmath=True))


def batch_last(tensor):
    """A batch of matrices as (rows, columns, matrix): how bulk tensor copies take it."""
    return cute.make_tensor(tensor.iterator, cute.select(tensor.layout, mode=[1, 2, 0]))


def partition(atom, staged, tiles, tile, number=0, parts=1):
    """Both sides of a bulk tensor copy: shared memory by (.., stage) and global memory by (.., tile coordinates).

    Of a tile that several CTAs bring to each other in equal parts, part `number`."""
    tiled = cute.local_tile(tiles, tile, (None,) * cute.rank(tiles))
    smem, gmem = cute.group_modes(staged, 0, 2), cute.group_modes(tiled, 0, len(tile))
    return cpasync.tma_partition(atom, number, cute.make_layout(parts), smem, gmem)


@cute.jit
def tile_at(tile: Int32, m_tiles: Int32, band: cutlass.Constexpr, by_band, by_last):
    """Row and column of a tile: bands of `band` rows, each column by column; the last band may have fewer rows."""
    i, r = divmod(tile, by_band)
    n, m = r // band, r % band
    if (i + 1) * band > m_tiles:
        n, m = divmod(r, by_last)
    return i * band + m, n
