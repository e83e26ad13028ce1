"""Whole Blackwell kernels that state everything of their tensor core are proved for all trip counts."""

import pytest
from kit import Ring, build, codes, ring, role
from tensor_kit import SM100, Tensor, plain, tensor

from warpdraft.core import (
    NamedBarrier,
    PipelineConfig,
    Storage,
    domain_loop,
    elect_warp,
    symbol,
    tcgen05_fence_after,
    tcgen05_fence_before,
    tcgen05_wait_ld,
    tcgen05_wait_st,
    tmem_alloc,
    tmem_dealloc,
    tmem_relinquish,
    verify,
)


class TestAttention:
    """Scores S = Q K are loaded by softmax warps, which store probabilities P over half of S; the next MMA reads P. The MMA
    that makes the next scores overwrites P without a wait: it comes after the one that reads it."""

    @staticmethod
    def schedule(wait=True, published=True):
        n = symbol("n", min=1)
        kv = Ring(name="kv", pipeline_config=PipelineConfig(2, pipeline_type="TmaUmma"), smem=ring().smem)
        s, o = tensor("s"), tensor("o")
        s.storage, s.tmem = Storage(128, 1, 1, offset=0), ()
        o.storage, o.tmem = Storage(128, 1, 1, offset=128), ()
        pipe = PipelineConfig(1, pipeline_type="AsyncUmma")
        p = Tensor(name="p", space="tmem", pipeline_config=pipe, storage=Storage(64, 1, 1, offset=64))
        ready, done = NamedBarrier(1, 288, "ready"), NamedBarrier(2, 288, "done")

        def load():
            with domain_loop(0, n):
                kv.acquire()
                kv.load()
                kv.commit()

        def mma():
            tmem_alloc(columns=256)
            tmem_relinquish()
            ready.sync()
            tcgen05_fence_after()
            o.acquire()
            tcgen05_fence_after()
            with domain_loop(0, n):
                kv.wait()
                s.acquire()
                tcgen05_fence_after()
                s.mma_from(tile=kv.tile())
                s.commit()
                p.wait()
                tcgen05_fence_after()
                o.mma_from(tile=p.view())
                p.release()
                kv.release()
            o.commit()
            done.sync()
            tmem_dealloc(columns=256)

        def soft():
            ready.sync()
            with domain_loop(0, n):
                s.wait()
                tcgen05_fence_after()
                s.load()
                tcgen05_wait_ld()
                p.acquire()
                tcgen05_fence_after()
                p.store()
                if wait:
                    tcgen05_wait_st()
                if published:
                    tcgen05_fence_before()
                p.commit()
                s.release()
            done.sync()

        def corr():
            ready.sync()
            o.wait()
            tcgen05_fence_after()
            o.load()
            tcgen05_wait_ld()
            tcgen05_fence_before()
            o.release()
            done.sync()

        return build(
            role("load", 0, 1, load, [], [kv]),
            role("mma", 1, 1, mma, [kv, p], [s, o]),
            role("soft", 4, 4, soft, [s], [p]),
            role("corr", 8, 4, corr, [o]),
            **SM100,
        )

    def test_proved(self):
        report = verify(self.schedule())
        assert (report.verdict, report.scope.kind, report.scope.assumed) == ("safe", "all", ()), (
            report.findings
        )

    def test_probabilities_that_are_not_stored_yet(self):
        assert "WD502" in codes(self.schedule(wait=False))

    def test_a_side_that_is_not_stated_is_assumed(self):
        report = verify(self.schedule(published=False))
        assert report.scope.assumed == ("works fence for tcgen05 inside, before arrivals (soft)",)


class TestBlockScaled:
    """Scale factors are copied into tensor memory by the warp that issues the MMAs, each time over the last ones."""

    @staticmethod
    def schedule(allocated=512):
        tiles, k = symbol("tiles"), symbol("k", min=1)
        ab = Ring(name="ab", pipeline_config=PipelineConfig(3, pipeline_type="TmaUmma"), smem=ring().smem)
        acc, sf = tensor("acc", 2, 128), plain("sf", 16, 256)
        ready, done = NamedBarrier(1, 160, "ready"), NamedBarrier(2, 160, "done")

        def load():
            with domain_loop(0, tiles), domain_loop(0, k):
                ab.acquire()
                ab.load()
                ab.commit()

        def mma():
            ready.sync()
            with domain_loop(0, tiles):
                acc.acquire()
                tcgen05_fence_after()
                with domain_loop(0, k):
                    ab.wait()
                    tile = ab.tile()
                    sf.copy(tile=tile)
                    acc.mma_from(tile=sf.view())
                    acc.mma_from(tile=tile)
                    ab.release()
                acc.commit()
            done.sync()

        def epilogue():
            with elect_warp(0):
                tmem_alloc(columns=allocated)
                tmem_relinquish()
            ready.sync()
            with domain_loop(0, tiles):
                acc.wait()
                tcgen05_fence_after()
                acc.load()
                tcgen05_wait_ld()
                tcgen05_fence_before()
                acc.release()
            done.sync()
            with elect_warp(0):
                tmem_dealloc(columns=allocated)

        return build(
            role("load", 0, 1, load, [], [ab]),
            role("mma", 1, 1, mma, [ab, sf], [acc, sf]),
            role("epi", 4, 4, epilogue, [acc]),
            **SM100,
        )

    def test_proved(self):
        report = verify(self.schedule())
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.findings
        (order,) = report.scope.assumed  # of the next copy behind the MMA that reads the last one
        assert order.startswith("a tcgen05.cp writes columns only when the MMA before it has read them")

    @pytest.mark.parametrize(("allocated", "code"), [(256, "WD406"), (320, "WD602"), (1024, "WD602")])
    def test_too_few_or_too_many_columns(self, allocated, code):
        assert code in codes(self.schedule(allocated))
