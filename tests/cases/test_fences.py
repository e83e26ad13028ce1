"""Case E: proxies, and mbarriers that are not there yet."""

import pytest
from kit import (
    K,
    Ring,
    accepted,
    accumulator,
    buffer,
    build,
    channel,
    codes,
    fill,
    finding,
    output,
    ring,
    role,
)

from warpdraft.core import (
    AsyncGroup,
    MBarrier,
    NamedBarrier,
    PipelineConfig,
    cluster_sync,
    domain_loop,
    elect_warp,
    fence_mbarrier_init,
    fence_proxy_async,
    producer_work,
    verify,
)


class TestC36:
    """Threads write, a barrier, a TMA store reads: a barrier orders threads, not proxies."""

    @staticmethod
    def schedule(fence):
        o, out, group, meet = buffer("o"), output(), AsyncGroup("bulk_store"), NamedBarrier(1, 128, "meet")

        def epi():
            o.share()
            if fence == "writers":
                fence_proxy_async()
            meet.sync()
            with elect_warp(0):
                if fence == "issuer":
                    fence_proxy_async()
                out.store(tile=o.tile())
                group.commit()
                group.wait_read(0)

        return build(role("epi", 0, 4, epi, [o], [o, out]))

    def test_no_fence(self):
        found = finding(self.schedule(None), "WD501")
        assert found.ops == ("epi.01", "epi.05") and "before epi.02" in found.notes[0]

    def test_a_fence_by_the_issuing_warp_only(self):
        assert codes(self.schedule("issuer")) == {"WD501"}

    def test_a_fence_by_every_writer(self):
        assert accepted(self.schedule("writers"))


class TestC37:
    """The only fence is in a loop that may run zero times."""

    @staticmethod
    def schedule(after):
        s, out, group, meet = buffer("s"), output(), AsyncGroup("bulk_store"), NamedBarrier(1, 128, "meet")

        def comp():
            s.share()
            with domain_loop(0, K):
                s.share()
                fence_proxy_async()
            if after:
                fence_proxy_async()
            meet.sync()
            with elect_warp(0):
                out.store(tile=s.tile())
                group.commit()
                group.wait_read(0)

        return build(role("comp", 0, 4, comp, [s], [s, out]))

    def test_zero_trips(self):
        found = finding(self.schedule(False), "WD504")
        assert found.case == (("k", 0),)

    def test_one_trip_or_more(self):
        assert accepted(self.schedule(False), trip_counts={"k": range(1, 5)})

    def test_fence_outside_the_loop(self):
        assert accepted(self.schedule(True))


class TestC39:
    """Threads read a stage that TMA then refills."""

    @staticmethod
    def schedule(fence):
        lse = ring("lse", 2)

        def load():
            with domain_loop(0, K):
                lse.acquire()
                lse.load()
                lse.commit()

        def math():
            with domain_loop(0, K):
                lse.wait()
                lse.read()
                if fence:
                    fence_proxy_async()
                lse.release()

        return build(role("load", 0, 1, load, [], [lse]), role("math", 4, 4, math, [lse]))

    def test_no_fence_before_the_release(self):
        found = finding(self.schedule(False), "WD501")
        assert found.ops == ("math.03", "load.03") and found.case == (("k", 3),)

    def test_a_fence_on_the_path(self):
        assert accepted(self.schedule(True))

    @staticmethod
    def unplaced(fence, ring):
        """The same through a ring that says who fills it, but not where it lies."""
        lse = ring(name="lse", pipeline_config=PipelineConfig(2, pipeline_type="TmaAsync"))

        def math():
            with domain_loop(0, K):
                lse.wait()
                lse.read()
                if fence:
                    fence_proxy_async()
                lse.release()

        return build(fill(lse), role("math", 4, 4, math, [lse]))

    def test_an_engine_that_is_named_reaches_shared_memory(self):
        assert codes(self.unplaced(False, Ring)) == {"WD501"}
        assert accepted(self.unplaced(True, Ring))

    def test_an_engine_that_is_only_assumed_gives_a_warning(self):
        class Unsaid(Ring):
            @producer_work
            def load(self, stage_info): ...

        report = verify(self.unplaced(False, Unsaid))
        assert report.errors == () and [f.code for f in report.findings] == ["WD501"]
        assert accepted(self.unplaced(True, Unsaid))


class TestP18:
    """Threads write an operand, commit, and wgmma reads it."""

    @staticmethod
    def schedule(fence):
        a, acc, group = channel("a", 2), accumulator(), AsyncGroup("wgmma")

        def fill():
            with domain_loop(0, K):
                a.acquire()
                a.share()
                if fence:
                    fence_proxy_async()
                a.commit()

        def math():
            with domain_loop(0, K):
                a.wait()
                acc.mma(tile=a.tile())
                group.commit()
                group.wait(0)
                a.release()

        return build(role("fill", 0, 4, fill, [], [a]), role("math", 4, 4, math, [a], [acc]))

    def test_no_fence(self):
        assert codes(self.schedule(False)) == {"WD501"}

    def test_fence(self):
        assert accepted(self.schedule(True))


class TestC21:
    """A planner gives the bytes of one mbarrier to another."""

    @staticmethod
    def schedule(ended):
        a, b = MBarrier("a", 1, address=0), MBarrier("b", 1, address=0)
        meet = NamedBarrier(1, 64, "meet")

        def turn(barrier):
            barrier.init()
            fence_mbarrier_init()
            meet.sync()
            barrier.arrive()

        def first():
            turn(a)
            meet.sync()
            if ended:
                a.inval()
            turn(b)

        def second():
            meet.sync()
            a.wait()
            meet.sync()
            meet.sync()
            b.wait()

        return build(role("first", 0, 1, first), role("second", 4, 1, second))

    def test_a_second_init_on_a_live_barrier(self):
        found = finding(self.schedule(False), "WD211")
        assert set(found.resources) == {"a", "b"} and set(found.ops) == {"first.01", "first.06"}
        assert codes(self.schedule(False)) == {"WD211"}

    def test_the_first_one_ended(self):
        assert accepted(self.schedule(True))


class TestC41:
    """An init that nobody publishes."""

    @staticmethod
    def schedule(fence=True, meet=True, remote=False):
        b, start = MBarrier("b", 4), NamedBarrier(1, 128, "start")

        def body():
            with elect_warp(0):
                b.init()
                if fence:
                    fence_mbarrier_init()
            if meet:
                cluster_sync() if remote else start.sync()
            b.arrive(cta="peer" if remote else None)
            b.wait()
            if remote:
                cluster_sync()

        return build(role("all", 0, 4, body), cluster=(2, 1, 1) if remote else (1, 1, 1))

    def test_no_barrier(self):
        assert "WD211" in codes(self.schedule(meet=False))

    def test_no_fence_within_one_cta_is_a_warning(self):
        report = verify(self.schedule(fence=False))
        assert report.errors == () and [f.code for f in report.findings] == ["WD211"]

    def test_a_peer(self):
        assert "WD211" in codes(self.schedule(meet=False, remote=True))
        assert "WD211" in codes(self.schedule(fence=False, remote=True))

    @pytest.mark.parametrize("remote", [False, True])
    def test_published(self, remote):
        assert accepted(self.schedule(remote=remote))
