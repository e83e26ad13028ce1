"""Resources of the cases about Blackwell's tensor core."""

from __future__ import annotations

from kit import K, role

from warpdraft.core import (
    MemoryResource,
    PipelineConfig,
    Storage,
    TmemAllocation,
    consumer_work,
    domain_loop,
    producer_work,
)

SM100 = {"target": "sm_100a"}


class Tensor(MemoryResource):
    """Tensor memory: `mma` fills it, warps `load` and `store`, `view` stands for it as an MMA's operand."""

    @producer_work(engine="tcgen05")
    def mma(self, stage_info): ...

    @producer_work(engine="tcgen05")
    def mma_from(self, stage_info, tile): ...

    @producer_work(engine="tcgen05_cp")
    def copy(self, stage_info, tile): ...

    @producer_work(engine="tcgen05_st")
    def store(self, stage_info): ...

    @consumer_work(engine="tcgen05_ld")
    def load(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...

    @consumer_work(view=True, returns="tile")
    def view(self, stage_info): ...


def tensor(name, stages=1, columns=128, pipeline="UmmaAsync", **options):
    """A pipeline through tensor memory, with one arrival a warp from threads."""
    config = PipelineConfig(stages, pipeline_type=pipeline, **options)
    return Tensor(name=name, pipeline_config=config, tmem=[TmemAllocation(name, columns)])


def plain(name, columns=128, offset=None):
    """Tensor memory without a pipeline, perhaps at a place of its own."""
    storage = Storage(columns, 1, 1, offset=offset)
    return Tensor(name=name, space="tmem", storage=storage)


def producer(acc):
    """An MMA warp that fills ``acc``."""

    def mma():
        with domain_loop(0, K):
            acc.acquire()
            acc.mma()
            acc.commit()

    return role("mma", 0, 1, mma, [], [acc])
