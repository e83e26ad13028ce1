"""Cases A and B: arrival counts, who takes part, transaction bytes."""

import pytest
from kit import (
    Buffer,
    K,
    Ring,
    TensorAccumulator,
    accepted,
    accumulator,
    build,
    channel,
    codes,
    drain,
    fill,
    finding,
    output,
    ring,
    role,
    times,
)

from warpdraft.core import (
    AsyncGroup,
    MBarrier,
    NamedBarrier,
    PipelineConfig,
    Signal,
    SignalingThreads,
    SmemAllocation,
    cluster_sync,
    create_tma_async_pipeline_cfg,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    sync_warp,
    verify,
)


def gemm(full=None, empty=None, groups=1, stages=3):
    """TMA producer, one or two consumer warpgroups; every warp releases once."""
    ab, acc = ring("ab", stages, producer_group=full, consumer_group=empty), accumulator()

    def load():
        with domain_loop(0, K):
            ab.acquire()
            ab.load()
            ab.commit()

    def math():
        group = AsyncGroup("wgmma")
        with domain_loop(0, K):
            ab.wait()
            acc.mma(tile=ab.tile())
            group.commit()
            group.wait(0)
            ab.release()

    maths = [role(f"math{g}", 4 + 4 * g, 4, math, [ab], [acc]) for g in range(groups)]
    return build(role("load", 0, 1, load, [], [ab]), *maths)


class TestC03:
    """One lane arrives for 32 lanes that wrote: a race only where lanes may drift apart."""

    def schedule(self, *, meet=False):
        w = channel("w")

        def load():
            with domain_loop(0, K):
                w.acquire()
                w.share()
                fence_proxy_async()  # of another kind: it must not silence the finding
                if meet:
                    sync_warp()
                w.commit()

        return build(role("load", 0, 1, load, [], [w]), drain(w))

    def test_lanes_that_drift_apart(self):
        assert codes(self.schedule(), strict_lanes=True) == {"WD213"}
        assert accepted(self.schedule())

    def test_a_warp_sync(self):
        assert accepted(self.schedule(meet=True), strict_lanes=True)


class TestC01:
    """Group sizes given in threads where warps arrive."""

    def test_both_counts_are_named_with_the_right_number(self):
        found = [f for f in verify(gemm(full=32, empty=128)).findings if f.code == "WD201"]
        assert {(f.actual, f.expected) for f in found} == {("32", "1"), ("128", "4")}
        assert any("declare 4" in f.message for f in found)

    def test_a_count_too_large_hangs(self):
        assert codes(gemm(empty=128)) & {"WD301", "WD302"}
        assert len(verify(gemm(full=32, empty=128)).findings) <= 6

    def test_a_count_too_small_releases_early(self):
        found = codes(gemm(empty=1, groups=2))
        assert "WD201" in found and found & {"WD403", "WD401"}
        assert finding(gemm(empty=1, groups=2), "WD201").expected == "8"

    @pytest.mark.parametrize("groups", [1, 2])
    def test_right_counts(self, groups):
        assert accepted(gemm(full=1, empty=4 * groups, groups=groups))

    @staticmethod
    def through_the_factory(full, empty, groups=1):
        """As Task Scheduling's factory means it: its threads all arrive, if the count is theirs."""
        config = create_tma_async_pipeline_cfg(3, None, full, empty)
        ab = Ring(name="ab", pipeline_config=config, smem=[SmemAllocation("ab", 1024)])

        def math():
            with domain_loop(0, K):
                ab.wait()
                ab.read()
                fence_proxy_async()
                ab.release()

        return build(fill(ab), *(role(f"math{g}", 4 + 4 * g, 4, math, [ab]) for g in range(groups)))

    @pytest.mark.parametrize(
        ("full", "empty", "groups", "wrong"),
        [
            (32, 128, 1, {("32", "1")}),  # the producer's side has one arrival; all 128 consumers arrive
            (32, 4, 1, {("32", "1")}),
            (1, 32, 1, {("32", "4")}),
            (1, 128, 2, {("128", "8")}),  # two groups of which one was counted
            (1, 1, 2, {("1", "8")}),
        ],
    )
    def test_the_factory(self, full, empty, groups, wrong):
        rows = verify(self.through_the_factory(full, empty, groups)).errors
        assert {(f.actual, f.expected) for f in rows if f.code == "WD201"} == wrong

    @pytest.mark.parametrize(("empty", "groups"), [(4, 1), (128, 1), (8, 2), (256, 2), (None, 2)])
    def test_the_factory_with_right_counts(self, empty, groups):
        assert accepted(self.through_the_factory(1, empty, groups))


class TestC02:
    """The warp that signals is not among the consumers."""

    @staticmethod
    def schedule(signals, warps=1):
        ab = ring("ab", 3, consumer_group=1, consumer_signaling_threads=Signal.LEADER)

        def load():
            with domain_loop(0, K):
                ab.acquire()
                ab.load()
                ab.commit()

        def math():
            meet = NamedBarrier(1, 128, "meet")
            with domain_loop(0, K):
                ab.wait()
                ab.read()
                fence_proxy_async()
                meet.sync()
                if signals:
                    ab.release()

        return build(role("load", 0, warps, load, [], [ab]), role("math", 4, 4, math, [ab]))

    @pytest.mark.parametrize("warps", [1, 4])
    def test_nobody_signals(self, warps):
        found = finding(self.schedule(False, warps), "WD302")
        assert found.ops == ("load.02",) and found.case == (("k", 4),)
        assert codes(self.schedule(False, warps)) == {"WD302"}

    @pytest.mark.parametrize("warps", [1, 4])
    def test_a_consumer_signals(self, warps):
        assert accepted(self.schedule(True, warps))


class TestC05:
    """A block barrier inside one role."""

    @staticmethod
    def schedule(threads):
        w, a = ring("w"), ring("a")

        def comp():
            with domain_loop(0, K):
                w.wait()
                a.wait()
                w.read()
                a.read()
                fence_proxy_async()
                w.release()
                a.release()
            NamedBarrier(0, threads, "block").sync()

        def dma(r):
            def body():
                with elect_warp(0), domain_loop(0, K):
                    r.acquire()
                    r.load()
                    r.commit()

            return body

        return build(
            role("comp", 0, 4, comp, [w, a]),
            role("dma_w", 4, 4, dma(w), [], [w]),
            role("dma_a", 8, 4, dma(a), [], [a]),
        )

    def test_too_many_threads(self):
        found = finding(self.schedule(384), "WD208")
        assert found.expected == "128 threads" and found.tasks == ("comp",)

    def test_those_of_the_role(self):
        assert accepted(self.schedule(128))


class TestC06:
    """A cluster barrier that one partition executes: it waits for all threads that have not left the kernel."""

    @staticmethod
    def schedule(worker_joins, waits=False):
        ab, done = ring("ab"), MBarrier("done", 4)

        def default():
            with domain_loop(0, K):
                ab.wait()
                ab.read()
                fence_proxy_async()
                ab.release()
            cluster_sync()
            if waits:
                done.arrive()

        def worker():
            with elect_warp(0), domain_loop(0, K):
                ab.acquire()
                ab.load()
                ab.commit()
            if waits:
                done.wait()
            if worker_joins:
                cluster_sync()

        return build(
            role("default", 0, 4, default, [ab]), role("worker", 4, 4, worker, [], [ab]), cluster=(2, 1, 1)
        )

    def test_the_worker_leaves(self):
        found = finding(self.schedule(False), "WD208")
        assert found.tasks == ("default", "worker") and "worker" in found.message
        assert codes(self.schedule(False)) == {"WD208"}

    def test_the_worker_is_alive(self):
        assert codes(self.schedule(False, waits=True)) == {"WD208", "WD301"}

    def test_all_execute_it(self):
        assert accepted(self.schedule(True))


class TestC09:
    """A count of 0."""

    @pytest.mark.parametrize("counts", [{"full": 0}, {"empty": 0}])
    def test_zero(self, counts):
        report = verify(gemm(**counts))
        assert report.findings[0].code == "WD202"
        assert accepted(gemm())

    def test_raw(self):
        ready = MBarrier("ready", count=1 << 20)
        found = build(role("a", 0, 1, lambda: ready.arrive()), role("b", 4, 1, lambda: ready.wait()))
        assert "WD202" in codes(found)


class TestC10:
    """The barrier expects clamped bytes, the copies deliver whole boxes."""

    @staticmethod
    def schedule(nbytes):
        config = PipelineConfig(4, pipeline_type="TmaUmma", num_bytes=nbytes)
        ab = Ring(name="ab", pipeline_config=config, smem=[SmemAllocation("ab", 2048)])
        acc = TensorAccumulator(name="acc", space="tmem")

        def load():
            with domain_loop(0, 16):
                ab.acquire()
                ab.load()
                ab.commit()

        def mma():
            with domain_loop(0, 16):
                ab.wait()
                acc.mma(tile=ab.tile())
                ab.release()

        return build(
            role("load", 0, 1, load, [], [ab]), role("mma", 4, 1, mma, [ab], [acc]), target="sm_100a"
        )

    @pytest.mark.parametrize("nbytes", [1024, 4096])
    def test_wrong_bytes(self, nbytes):
        found = finding(self.schedule(nbytes), "WD203")
        assert (found.expected, found.actual) == ("2048 B", f"{nbytes} B")

    @pytest.mark.parametrize("nbytes", [2048, None])
    def test_right_bytes(self, nbytes):
        assert accepted(self.schedule(nbytes))


class TestN1:
    """Arrive by 128 plus sync by 128 on a count of 256."""

    @staticmethod
    def schedule(threads):
        meet, out = NamedBarrier(1, threads, "meet"), output()
        return build(role("left", 0, 4, meet.arrive), role("right", 4, 4, meet.sync), resources=[out])

    def test_right_count(self):
        assert accepted(self.schedule(256))

    def test_half_of_it(self):
        assert finding(self.schedule(128), "WD208").expected == "256 threads"


def test_elected_arrivals_are_counted_once():
    ready = MBarrier("ready")

    def left():
        with elect_warp(0):
            ready.arrive()

    assert accepted(build(role("left", 0, 4, left), role("right", 4, 4, lambda: ready.wait())))


@pytest.mark.parametrize(("count", "made"), [(4, 128), (32, 128), (128, None)])
def test_all_threads_signal(count, made):
    """With ``SignalingThreads.All`` each lane of four warps commits, as Task Scheduling counts it: four are too few."""
    config = PipelineConfig(
        2, pipeline_type="AsyncAsync", producer_group=count, producer_signaling_threads=SignalingThreads.All
    )
    x = Buffer(name="x", pipeline_config=config, smem=[SmemAllocation("x", 1024)])
    document = build(role("fill", 0, 4, times(K, x, "acquire share commit"), [], [x]), drain(x))
    if made is None:
        assert accepted(document)
    else:
        found = finding(document, "WD201")
        assert (found.actual, found.expected) == (str(count), str(made))
