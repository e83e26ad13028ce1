"""C50 with MMAs of a pair of CTAs (cta_group::2): both allocate, meet, multiply, and meet again before both free."""

import pytest
from kit import K, accepted, build, codes, finding, role
from tensor_kit import SM100

from warpdraft.core import (
    MemoryResource,
    NamedBarrier,
    SignalingThreads,
    SmemAllocation,
    TmemAllocation,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    consumer_work,
    create_tma_umma_pipeline_cfg,
    create_umma_async_pipeline_cfg,
    domain_loop,
    producer_work,
    tcgen05_wait_ld,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
    verify,
)


class Tile(MemoryResource):
    """Half of an operand; each CTA loads its own."""

    @producer_work(engine="tma")
    def load(self, stage_info): ...

    @consumer_work(view=True, returns="tile")
    def tile(self, stage_info): ...


class Sum(MemoryResource):
    """What the leader's MMA writes in the tensor memory of both."""

    @producer_work(engine="tcgen05")
    def mma(self, stage_info, tile): ...

    @consumer_work(engine="tcgen05_ld")
    def read(self, stage_info): ...


def pair(first="cluster", last="cluster", *, group=2, frees="mma", relinquish=True):
    """The kernel of a pair; who meets behind the allocation and before the freeing: "cluster", "cta" or nobody."""
    layout, leader = (2, 1, 1, 1), SignalingThreads.CtaLeader
    a = Tile(
        name="a",
        smem=[SmemAllocation("a", 1024)],
        pipeline_config=create_tma_umma_pipeline_cfg(
            2, None, cta_layout_vmnk=layout, consumer_signaling_threads=leader
        ),
    )
    acc = Sum(
        name="acc",
        tmem=[TmemAllocation("acc", 64)],
        pipeline_config=create_umma_async_pipeline_cfg(
            1, cta_layout_vmnk=layout, producer_signaling_threads=leader
        ),
    )
    ready, done = NamedBarrier(1, 192, "ready"), NamedBarrier(2, 192, "done")

    def meet(how, barrier):
        if how == "cluster":
            cluster_sync()
        elif how == "cta":
            barrier.sync()
        elif how == "split":
            cluster_arrive()
            cluster_wait()

    def load():
        meet(first, ready)
        with domain_loop(0, K):
            a.acquire()
            a.load()
            a.commit()
        meet(last, done)

    def mma():
        tmem_alloc(acc, cta_group=2)
        tmem_relinquish(cta_group=2) if relinquish else None
        meet(first, ready)
        with domain_loop(0, K):
            a.wait()
            acc.acquire()
            acc.mma(tile=a.tile())
            a.release()
            acc.commit()
        meet(last, done)
        tmem_dealloc(acc, cta_group=group) if frees == "mma" else None

    def epilogue():
        meet(first, ready)
        with domain_loop(0, K):
            acc.wait()
            acc.read()
            tcgen05_wait_ld()
            acc.release()
        meet(last, done)

    return build(
        role("load", 0, 1, load, [], [a]),
        role("mma", 1, 1, mma, [a], [acc]),
        role("epilogue", 4, 4, epilogue, [acc]),
        cluster=(2, 1, 1),
        **SM100,
    )


class TestC50OfAPair:
    @pytest.mark.parametrize("how", ["cluster", "split"])
    def test_the_cluster_meets_twice(self, how):
        assert accepted(pair(how, how)) and verify(pair(how, how)).scope.kind == "all"

    def test_the_leader_multiplies_into_what_nobody_waited_for(self):
        assert "WD406" in codes(pair("none"))

    def test_it_is_freed_while_the_pair_may_use_it(self):
        assert {"WD406", "WD703"} & codes(pair("cluster", "none"))

    def test_what_the_pipelines_order_needs_no_meeting_of_the_cluster(self):
        """The other CTA's copies, behind its allocation, are part of what the leader waits for before it multiplies."""
        assert accepted(pair("cta")) and accepted(pair("cluster", "cta"))

    def test_but_there_may_be_no_product_at_all(self):
        found = finding(pair("cta", "cta"), "WD406")
        assert dict(found.case)["k"] == 0 and "other CTA" in found.message

    def test_one_cta_group_in_a_kernel(self):
        assert "WD406" in codes(pair(group=1))

    def test_nobody_frees(self):
        assert "never freed" in finding(pair(frees="nobody"), "WD406").message
