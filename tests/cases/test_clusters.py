"""Section G and what else speaks of clusters: C07, C11, C20, C41 (c), C48, C49, C52."""

import pytest
from kit import K, accepted, buffer, build, codes, finding, ring, role

from warpdraft.core import (
    MBarrier,
    MemoryResource,
    PipelineConfig,
    SignalingThreads,
    SmemAllocation,
    TmemAllocation,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    consumer_work,
    create_tma_umma_pipeline_cfg,
    create_umma_async_pipeline_cfg,
    cta_rank,
    domain_loop,
    fence_mbarrier_init,
    fence_proxy_async,
    producer_work,
    symbol,
)

PAIR = {"cluster": (2, 1, 1)}


class Tile(MemoryResource):
    """A tile that CTA 0 copies into the memory of both; ``barrier`` is told the bytes."""

    @producer_work(engine="tma")
    def load(self, stage_info, barrier): ...

    @consumer_work
    def read(self, stage_info): ...


def tile():
    return Tile(name="a", smem=[SmemAllocation("a", 1024)])


class TestC07:
    """A copy to both CTAs: the issuer may refill only when the consumers of both have released."""

    @staticmethod
    def schedule(count, *, remote):
        a, full, empty = tile(), MBarrier("full", 1), MBarrier("empty", count)

        def load():
            with cta_rank(0), domain_loop(0, K) as k:
                with k.every(1, start=1):
                    empty.wait()
                full.arrive_expect_tx(1024, cta="all")
                a.load(barrier=full, multicast="all")
            cluster_sync()

        def math():
            with domain_loop(0, K):
                full.wait()
                a.read()
                fence_proxy_async()
                empty.arrive(cta=0 if remote else None)
            cluster_sync()

        return build(role("load", 0, 1, load, [], [a]), role("math", 4, 8, math, [a]), **PAIR)

    def test_the_release_stays_at_home(self):
        found = finding(self.schedule(16, remote=False), "WD301")
        assert "empty[0]" in found.message and "math.w0" in found.message
        cause = finding(self.schedule(16, remote=False), "WD201")
        assert (cause.actual, cause.expected) == ("16", "8") and "other CTAs" in cause.notes[0]

    def test_the_count_forgets_the_other_cta(self):
        found = codes(self.schedule(8, remote=False))
        assert "WD401" in found

    def test_the_release_reaches_the_issuer(self):
        assert accepted(self.schedule(16, remote=True))

    def test_pipelines_count_it_themselves(self):
        assert finding(self.pipeline(8), "WD201").expected == "16"
        assert accepted(self.pipeline(None)) and accepted(self.pipeline(16))

    @staticmethod
    def pipeline(count):
        a = ring("a", cta_layout_vmnk=(1, 2, 1, 1), mcast_mode_mn=(0, 1), consumer_group=count)

        def load():
            with domain_loop(0, K):
                a.acquire()
                a.load(multicast="n")
                a.commit()

        def math():
            with domain_loop(0, K):
                a.wait()
                a.read()
                fence_proxy_async()
                a.release()

        return build(role("load", 0, 1, load, [], [a]), role("math", 4, 8, math, [a]), **PAIR)


class TestC20:
    """A multicast tile that is published again before lagging waiters of both CTAs have seen it."""

    @staticmethod
    def schedule(consumed):
        a, full, seen = tile(), MBarrier("full", 1), MBarrier("seen", 8)

        def publish():
            with cta_rank(0), domain_loop(0, K) as k:
                if consumed:
                    with k.every(1, start=1):
                        seen.wait()
                full.arrive_expect_tx(1024, cta="all")
                a.load(barrier=full, multicast="all")
            cluster_sync()

        def read():
            with domain_loop(0, K):
                full.wait()
                a.read()
                fence_proxy_async()
                if consumed:
                    seen.arrive(cta=0)
            cluster_sync()

        return build(role("publish", 0, 1, publish, [], [a]), role("read", 4, 4, read, [a]), **PAIR)

    def test_full_without_empty(self):
        assert {"WD205", "WD401"} <= codes(self.schedule(False))

    def test_consumed(self):
        assert accepted(self.schedule(True))


class TestC48:
    """A drain that waits for stages which the consumer, gone already, has not released."""

    @staticmethod
    def schedule(last):
        a = ring("a", cta_layout_vmnk=(1, 2, 1, 1), advance_on_wait=True)
        trips = symbol("k", min=1)

        def load():
            with domain_loop(0, trips):
                a.acquire()
                a.load(multicast="n")
                a.commit()

        def math():
            with domain_loop(0, trips) as k:
                a.wait()
                a.read()
                fence_proxy_async()
                with k.every(1, start=1):
                    a.release()
            if last:
                a.release()

        return build(role("load", 0, 1, load, [], [a]), role("math", 4, 1, math, [a]), **PAIR)

    def test_the_last_stage_is_kept(self):
        found = finding(self.schedule(False), "WD218")
        assert found.tasks[0] == "load" and "drains a" in found.message

    def test_every_stage_is_released(self):
        assert accepted(self.schedule(True))


class TestC49:
    """A CTA exits while its peer still reads its shared memory, or arrives on its barriers."""

    @staticmethod
    def schedule(*end):
        x = buffer("x")

        def exchange():
            x.share()
            cluster_sync()
            x.read(cta="peer")
            for step in end:
                step()

        return build(role("exchange", 0, 4, exchange, [x], [x]), **PAIR)

    def test_gone(self):
        found = finding(self.schedule(), "WD703")
        assert found.resources == ("x",) and codes(self.schedule()) == {"WD703"}

    @pytest.mark.parametrize("end", [(cluster_sync,), (cluster_arrive, cluster_wait)])
    def test_they_part_together(self, end):
        assert accepted(self.schedule(*end))

    def test_to_arrive_is_not_to_wait(self):
        assert codes(self.schedule(cluster_arrive)) == {"WD703"}

    @staticmethod
    def signal(acknowledged):
        go, ack = MBarrier("go", 1), MBarrier("ack", 1)

        def talk():
            with cta_rank(0):
                go.arrive(cta=1)
                if acknowledged:
                    ack.wait()
            with cta_rank(1):
                if acknowledged:
                    go.wait()
                    ack.arrive(cta=0)

        return build(role("talk", 0, 1, talk), **PAIR)

    def test_a_signal_to_one_that_may_be_gone(self):
        assert "WD703" in codes(self.signal(False))

    def test_it_waits_for_the_signal(self):
        assert accepted(self.signal(True))


class TestC52:
    """The CTAs of a pair work on groups of different sizes, and share a pipeline."""

    @staticmethod
    def schedule(trips, layout=(1, 2, 1, 1)):
        a = ring("a", cta_layout_vmnk=layout)

        def load():
            with domain_loop(0, trips):
                a.acquire()
                a.load()
                a.commit()

        def math():
            with domain_loop(0, trips):
                a.wait()
                a.read()
                fence_proxy_async()
                a.release()

        return build(role("load", 0, 1, load, [], [a]), role("math", 4, 1, math, [a]), **PAIR)

    def test_trip_counts_of_their_own(self):
        found = finding(self.schedule(symbol("k_group", per_cta=True)), "WD704")
        assert found.resources == ("a",) and "k_group" in found.message
        assert codes(self.schedule(symbol("k_group", per_cta=True))) & {"WD301", "WD302", "WD218"}

    def test_one_trip_count(self):
        assert accepted(self.schedule(K))

    def test_pipelines_of_their_own(self):
        assert accepted(self.schedule(symbol("k_group", per_cta=True), layout=None))


def test_a_scope_that_is_too_narrow():
    """WD503"""
    go = MBarrier("go", 1, scope="cta")

    def talk():
        with cta_rank(0):
            go.arrive(cta=1)
        with cta_rank(1):
            go.wait()

    assert codes(build(role("talk", 0, 1, talk), **PAIR)) == {"WD503"}


def test_a_cta_that_is_not_there():
    """WD212"""
    x = buffer("x")

    def talk():
        x.fill(cta=2)
        cluster_sync()

    assert "WD212" in codes(build(role("talk", 0, 1, talk, [], [x]), **PAIR))


def test_config_words_reach_the_document():
    config = PipelineConfig(2, cta_layout_vmnk=(2, 1, 1, 1), mcast_mode_mn=(0, 1)).record()
    assert config.cta_layout == (2, 1, 1, 1) and config.multicast == (0, 1)


class TestC41:
    """(c) A peer arrives on an mbarrier whose init it cannot know of: no cluster barrier behind it."""

    @staticmethod
    def schedule(*steps):
        go = MBarrier("go", 1)

        def talk():
            go.init()
            for step in steps:
                step()
            with cta_rank(0):
                go.arrive(cta=1)
            with cta_rank(1):
                go.wait()
            cluster_sync()

        return build(role("talk", 0, 1, talk), **PAIR)

    def test_nobody_waits_for_the_init(self):
        assert "WD211" in codes(self.schedule(fence_mbarrier_init))

    def test_the_cluster_meets(self):
        assert accepted(self.schedule(fence_mbarrier_init, cluster_sync))


class PairTile(MemoryResource):
    """An operand of an MMA that two CTAs work for; each loads its half."""

    @producer_work(engine="tma")
    def load(self, stage_info): ...

    @consumer_work(view=True, returns="tile")
    def tile(self, stage_info): ...


class PairAccumulator(MemoryResource):
    @producer_work(engine="tcgen05")
    def mma(self, stage_info, tile): ...

    @consumer_work
    def read(self, stage_info): ...


class TestC11:
    """A pair of CTAs: both loads complete on the leader's barrier, so it expects the bytes of both."""

    @staticmethod
    def schedule(nbytes):
        layout, leader = (2, 1, 1, 1), SignalingThreads.CtaLeader
        a = PairTile(
            name="a",
            smem=[SmemAllocation("a", 1024)],
            pipeline_config=create_tma_umma_pipeline_cfg(
                2, nbytes, cta_layout_vmnk=layout, consumer_signaling_threads=leader
            ),
        )
        acc = PairAccumulator(
            name="acc",
            tmem=[TmemAllocation("acc", 32)],
            pipeline_config=create_umma_async_pipeline_cfg(
                1, cta_layout_vmnk=layout, producer_signaling_threads=leader
            ),
        )

        def load():
            with domain_loop(0, K):
                a.acquire()
                a.load()
                a.commit()

        def mma():
            with domain_loop(0, K):
                a.wait()
                acc.acquire()
                acc.mma(tile=a.tile())
                a.release()
                acc.commit()

        def epilogue():
            with domain_loop(0, K):
                acc.wait()
                acc.read()
                acc.release()

        tasks = (
            role("load", 0, 1, load, [], [a]),
            role("mma", 1, 1, mma, [a], [acc]),
            role("epilogue", 4, 4, epilogue, [acc]),
        )
        return build(*tasks, target="sm_100a", **PAIR)

    @pytest.mark.parametrize("nbytes", [1024, 4096])
    def test_the_bytes_of_one_cta_or_of_four(self, nbytes):
        found = finding(self.schedule(nbytes), "WD203")
        assert (found.expected, found.actual) == ("2048 B", f"{nbytes} B")

    @pytest.mark.parametrize("nbytes", [None, 2048])
    def test_the_bytes_of_the_pair(self, nbytes):
        assert accepted(self.schedule(nbytes))
