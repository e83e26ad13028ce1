"""Case D: stages and buffers that are used again too early."""

import pytest
from kit import Accumulator, K, accepted, accumulator, buffer, build, codes, finding, output, ring, role

from warpdraft.core import (
    AsyncGroup,
    MBarrier,
    NamedBarrier,
    SmemAllocator,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    symbol,
    verify,
)


def load_into(ab, trips=K):
    def load():
        with domain_loop(0, trips):
            ab.acquire()
            ab.load()
            ab.commit()

    return role("load", 0, 1, load, [], [ab])


class TestC22:
    """The stage goes back before the asynchronous MMA has read it."""

    @staticmethod
    def schedule(wait, lag):
        ab, acc, group = ring("ab", 3, advance_on_wait=True), accumulator(), AsyncGroup("wgmma")

        def math():
            with domain_loop(0, symbol("k", min=1)) as k:
                ab.wait()
                acc.mma(tile=ab.tile())
                group.commit()
                if wait is not None:
                    group.wait(wait)
                if lag:
                    with k.every(1, start=1):
                        ab.release()
                else:
                    ab.release()
            group.wait(0)
            if lag:
                ab.release()

        return build(load_into(ab, symbol("k", min=1)), role("math", 4, 4, math, [ab], [acc]))

    @pytest.mark.parametrize("wait", [None, 1])
    def test_release_of_the_stage_being_read(self, wait):
        report = verify(self.schedule(wait, lag=False))
        found = report.errors[0]
        assert found.code == "WD403" and report.verdict == "unsafe"
        assert {"load.03", "math.04"} <= set(found.ops) and found.ops[0].startswith("math.")

    def test_release_after_the_wait(self):
        assert accepted(self.schedule(0, lag=False))

    def test_release_of_the_previous_stage(self):
        assert accepted(self.schedule(1, lag=True))


class TestC27:
    """The store's read is waited for at a fixed iteration, which is the right one only for some trip counts."""

    STAGES = 4

    def schedule(self, k_trips, at_start):
        ab = ring("ab", self.STAGES)
        c = buffer("c", size=1024)
        out, done, group = output(), MBarrier("done"), AsyncGroup("bulk_store")

        def prod():
            for task in range(2):
                if at_start and task:
                    group.wait_read(0)
                for k in range(k_trips):
                    if task and not at_start and k == self.STAGES - 1:
                        group.wait_read(0)
                    ab.acquire()
                    ab.load()
                    ab.commit()
                done.wait()
                out.store(tile=c.tile())
                group.commit()
            group.wait_read(0)

        def math():
            for _ in range(2):
                for _ in range(k_trips):
                    ab.wait()
                    ab.read()
                    fence_proxy_async()
                    ab.release()
                c.fill()
                fence_proxy_async()
                done.arrive()

        found = build(role("prod", 0, 1, prod, [c], [ab, out]), role("math", 4, 1, math, [ab], [c]))
        return _over_last_stage(found, self.STAGES)

    def test_trips_that_are_no_multiple_of_the_depth(self):
        assert codes(self.schedule(6, at_start=False)) & {"WD402", "WD404"}

    def test_trips_that_are(self):
        assert accepted(self.schedule(8, at_start=False))

    @pytest.mark.parametrize("k_trips", [5, 6, 7, 8])
    def test_wait_at_the_start(self, k_trips):
        assert accepted(self.schedule(k_trips, at_start=True))


def _over_last_stage(found, stages):
    """``c`` lies over the last stage of ``ab``."""
    from dataclasses import replace

    ab = next(r for r in found.resources if r.name == "ab")
    resources = []
    for r in found.resources:
        if r.name == "ab":
            r = replace(r, storage=replace(r.storage, offset=1024))
        if r.name == "c":
            r = replace(r, storage=replace(r.storage, offset=1024 + (stages - 1) * ab.storage.bytes))
        resources.append(r)
    return replace(found, resources=tuple(resources))


class TestC28:
    """One warp waits for the store, the others of the task refill the staging buffer at once."""

    @staticmethod
    def schedule(meet_again):
        c, out, group, meet = buffer("c"), output(), AsyncGroup("bulk_store"), NamedBarrier(4, 128, "meet")

        def wg0():
            with domain_loop(0, K):
                c.share()
                fence_proxy_async()
                meet.sync()
                with elect_warp(0):
                    out.store(tile=c.tile())
                    group.commit()
                    group.wait_read(0)
                if meet_again:
                    meet.sync()

        return build(role("wg0", 0, 4, wg0, [c], [c, out]))

    def test_the_next_tile_overwrites_the_store(self):
        found = verify(self.schedule(False))
        assert found.errors[0].code == "WD401" and found.errors[0].case == (("k", 2),)

    def test_meeting_before_each_refill(self):
        assert accepted(self.schedule(True))


class TestC29:
    """The output lies over an input stage; the barrier comes only after the store."""

    @staticmethod
    def schedule(before):
        sa = ring("sa", 4)
        sc = buffer("sc", size=1024)
        meet = NamedBarrier(1, 256, "meet")

        def comp():
            with domain_loop(0, K):
                sa.wait()
                sa.read()
                fence_proxy_async()
                sa.release()
            if before:
                meet.sync()
            sc.share()
            meet.sync()
            sc.read()

        allocator = SmemAllocator()
        allocator.add_alias_group([[*sa.smem], [*sc.smem]])
        load = load_into(sa)
        return build(load, role("comp", 4, 8, comp, [sa, sc], [sc]), smem_allocator=allocator)

    def test_a_fast_warp_writes_where_a_slow_one_reads(self):
        found = finding(self.schedule(False), "WD402")
        assert set(found.resources) == {"sa", "sc"}

    def test_meeting_before_the_first_store(self):
        assert accepted(self.schedule(True))


class TestC30:
    """No barrier back from the reads of this iteration to the writes of the next."""

    @staticmethod
    def schedule(back):
        a, acc, group, meet = buffer("a"), accumulator(), AsyncGroup("wgmma"), NamedBarrier(1, 256, "meet")

        def work():
            with domain_loop(0, K):
                a.share()
                fence_proxy_async()
                meet.sync()
                acc.mma(tile=a.tile())
                group.commit()
                group.wait(0)
                if back:
                    meet.sync()

        return build(role("work", 0, 8, work, [a], [a, acc]))

    def test_two_iterations_race(self):
        found = finding(self.schedule(False), "WD401")
        assert found.case == (("k", 2),)

    def test_one_iteration_does_not(self):
        assert accepted(self.schedule(False), trip_counts={"k": [0, 1]})

    def test_meeting_at_the_end(self):
        assert accepted(self.schedule(True))


def test_read_of_an_accumulator_before_its_wait():
    ab, acc, group = ring("ab", 2), accumulator(), AsyncGroup("wgmma")

    def math(newest):
        def body():
            with domain_loop(0, K):
                ab.wait()
                acc.mma(tile=ab.tile())
                group.commit()
                group.wait(newest)
                acc.read()
                group.wait(0)
                ab.release()

        return role("math", 4, 4, body, [ab, acc], [acc])

    assert isinstance(acc, Accumulator)
    assert codes(build(load_into(ab), math(1))) == {"WD408"}
    assert accepted(build(load_into(ab), math(0)))
