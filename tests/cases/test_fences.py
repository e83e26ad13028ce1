"""Case E: proxies."""

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
    NamedBarrier,
    PipelineConfig,
    domain_loop,
    elect_warp,
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
