"""Resource classes of a Task Scheduling kernel whose bodies move data in every way. Read by the tests, and never run."""

from dataclasses import dataclass
from typing import Any

import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
from bodies_helpers import copy_in, drain, publish
from cutlass.cute.nvgpu import cpasync, tcgen05, warpgroup
from cutlass.experimental import primitives as prims
from cutlass.experimental.task_scheduling import WorkAttr, consumer_work, producer_work
from cutlass.experimental.task_scheduling.resources import MemoryResource, StageInfo

EPILOGUE = 2


@dataclass(kw_only=True)
class Base(MemoryResource):
    tma_atom: Any = None

    def _load(self, stage_info, coord):
        cute.copy(
            self.tma_atom, self.gmem[coord], self.smem[stage_info.stage_idx], tma_bar_ptr=stage_info.barrier
        )


@dataclass(kw_only=True)
class SmemA(Base):
    @producer_work
    @cute.jit
    def load(self, stage_info: StageInfo, coord) -> None:
        self._load(stage_info, coord)

    @producer_work
    def load_by_primitive(self, stage_info, coord):
        if prims.elect_sync():
            copy_in(self.desc, self.smem, (0, coord), stage_info.barrier)

    @producer_work
    def load_by_threads(self, stage_info, coord):
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16)
        tiled = cute.make_tiled_copy_tv(atom, self.threads, self.values)
        for i in cutlass.range(4):
            cute.copy(tiled, self.gmem[i], self.smem[i])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(EPILOGUE - 1)

    @consumer_work
    def read(self, stage_info):
        return self.smem[stage_info.stage_idx].load()


@dataclass(kw_only=True)
class Accumulator(MemoryResource):
    tiled_mma: Any = None

    @producer_work
    def mma(self, stage_info, tile):
        warpgroup.fence()
        cute.gemm(self.tiled_mma, self.acc, tile, tile, self.acc)
        warpgroup.commit_group()
        warpgroup.wait_group(0)

    @producer_work
    def umma(self, stage_info, tile):
        other = tcgen05.MmaF16BF16Op(cutlass.Float16)
        cute.gemm(cute.make_tiled_mma(other), self.acc, tile, tile, self.acc)

    @consumer_work(work_attrs=WorkAttr.AUXILIARY)
    def meet(self, stage_info):
        cute.arch.barrier(barrier_id=EPILOGUE, number_of_threads=128)


@dataclass(kw_only=True)
class SmemC(MemoryResource):
    store_atom: Any = None
    barrier: Any = None

    @producer_work
    def stage_tile(self, stage_info, fragment):
        self.smem.store(fragment)
        publish()
        self.barrier.arrive_and_wait()

    @consumer_work
    def put(self, stage_info):
        if prims.elect_sync():
            cute.copy(self.store_atom, self.smem, self.gmem)
        cute.arch.cp_async_bulk_commit_group()

    @consumer_work
    def put_and_wait(self, stage_info):
        if self.wanted:
            cute.copy(self.store_atom, self.smem, self.gmem)
            cute.arch.cp_async_bulk_commit_group()
            drain(0)

    @consumer_work
    def put_and_may_wait(self, stage_info):
        cute.copy(self.store_atom, self.smem, self.gmem)
        cute.arch.cp_async_bulk_commit_group()
        if cutlass.const_expr(self.cfg.waits):
            cute.arch.cp_async_bulk_wait_group(0, read=True)

    @consumer_work
    def put_and_wait_for_some(self, stage_info, *, left: cutlass.Constexpr[int]):
        cute.copy(self.store_atom, self.smem, self.gmem)
        cute.arch.cp_async_bulk_commit_group()
        some = 0
        if self.many:
            some = 1
        drain(some)
        drain(left)

    @consumer_work
    def unknown(self, stage_info):
        cute.copy(self.cfg.atom, self.smem, self.gmem)
        self.cfg.release_early(stage_info)
        if cutlass.const_expr(False):
            cute.arch.sync_threads()


def host(a, c):
    tiled_mma = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(cutlass.Float16))
    tma_store, _c = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), c)
    kernel(tiled_mma, tma_store)


def kernel(tiled_mma, tma_store):
    Accumulator(name="acc", tiled_mma=tiled_mma)
    SmemC(name="smem_c", store_atom=tma_store, barrier=pipeline.NamedBarrier(barrier_id=1, num_threads=128))
