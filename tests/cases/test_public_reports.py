"""Further mistakes from public reports, where they are of another kind than the cases': rendezvous in clusters,
handshakes of unequal sides, copies whose stage is free too early, groups without stores."""

import pytest
from kit import Buffer, Ring, accepted, buffer, build, codes, finding, output, role
from tensor_kit import SM100, plain

from warpdraft.core import (
    AsyncGroup,
    MBarrier,
    MemoryResource,
    NamedBarrier,
    SmemAllocation,
    WorkQueue,
    cluster_sync,
    consumer_work,
    cta_rank,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    producer_work,
    symbol,
    tcgen05_commit,
    verify,
    when_false,
    when_true,
    work_tile_loop,
)

N = symbol("n", min=1)
PAIR = {"cluster": (2, 1, 1)}


class Loaded(Ring):
    """Filled by copies that complete on a raw mbarrier."""

    @producer_work(engine="tma")
    def load(self, stage_info, barrier): ...


def proved(document) -> bool:
    """Whether it is accepted at all trip counts."""
    return accepted(document) and verify(document).scope.kind == "all"


class TestArrivesAndGoesOn:
    """vllm#26026: on tiles without work the role arrives and goes on; two tiles later it arrives for those who wait."""

    @staticmethod
    def schedule(waits):
        queue, done = WorkQueue(name="queue"), NamedBarrier(1, 160, "done")

        def compute():
            with work_tile_loop(queue):
                with when_true("work"):
                    done.sync()
                with when_false("work"):
                    done.sync() if waits else done.arrive()
                queue.get_and_advance_work_tile()

        def load():
            with work_tile_loop(queue):
                done.sync()
                queue.get_and_advance_work_tile()

        return build(role("compute", 0, 4, compute, [queue]), role("load", 4, 1, load, [queue]))

    def test_it_arrives(self):
        assert "WD206" in codes(self.schedule(False))

    def test_it_waits(self):
        assert proved(self.schedule(True))


class TestHandshake:
    """flashinfer#4732: one side arrives and may be a tile ahead, so that two ids take turns."""

    @staticmethod
    def schedule(ids):
        barriers = [NamedBarrier(1 + 4 * i, 384, f"tile{i}") for i in range(ids)]
        back = MBarrier("back", 4, 2)

        def turn(k, step):
            for i, barrier in enumerate(barriers):
                with k.every(ids, start=i):
                    getattr(barrier, step)()

        def math():
            with domain_loop(0, N) as k:
                with k.every(1, start=2):
                    back.wait((k // 2 + 1) % 2, stage=k % 2)
                turn(k, "arrive")

        def copy():
            with domain_loop(0, N) as k:
                turn(k, "sync")
                back.arrive(stage=k % 2)

        return build(role("math", 0, 8, math), role("copy", 8, 4, copy))

    def test_one_id(self):
        assert "WD206" in codes(self.schedule(1))

    def test_two_ids_in_turn(self):
        assert proved(self.schedule(2))


class TestMaskOfThePair:
    """facebookexperimental/triton#783: in a cluster of four each leader commits to CTAs 0 and 1."""

    @staticmethod
    def schedule(own):
        done, seen, acc = MBarrier("done", 1), MBarrier("seen", 2), plain("acc")

        def mma():
            with domain_loop(0, N) as k:
                for leader in (0, 2):
                    with cta_rank(leader):
                        with k.every(1, start=1):
                            seen.wait()
                        acc.mma()
                        tcgen05_commit(done, cta=(leader, leader + 1) if own else (0, 1))
            cluster_sync()

        def epilogue():
            with domain_loop(0, N):
                done.wait()
                for rank in range(4):
                    with cta_rank(rank):
                        seen.arrive(cta=rank // 2 * 2)
            cluster_sync()

        tasks = role("mma", 0, 1, mma, [], [acc]), role("epilogue", 4, 1, epilogue)
        return build(*tasks, cluster=(4, 1, 1), **SM100)

    def test_all_commit_to_the_first_pair(self):
        """Two commits end two phases before anyone has waited: the witness has both of them."""
        lap = next(
            f for f in verify(self.schedule(False)).errors if f.code == "WD205" and "done" in f.message
        )
        assert {"mma.w0", "mma@2.w0"} <= {step.agent for step in lap.witness}
        assert {"WD205", "WD206", "WD301"} <= codes(self.schedule(False))

    def test_each_to_its_own(self):
        assert proved(self.schedule(True))


class TestRendezvous:
    """triton#10669: a cluster barrier of mbarriers on which only the peers arrive; one who is late misses a phase."""

    @staticmethod
    def schedule(slots):
        there = MBarrier("there", 1, slots)

        def body():
            with domain_loop(0, N) as k:
                there.arrive(cta="peer", stage=k % slots)
                there.wait(k // slots % 2, stage=k % slots)
            cluster_sync()

        return build(role("body", 0, 1, body), **PAIR)

    def test_one_barrier(self):
        assert "WD205" in codes(self.schedule(1))

    def test_two_in_turn(self):
        assert proved(self.schedule(2))


class TestExpectedByOne:
    """facebookexperimental/triton#908: a copy to both CTAs completes in each, but only CTA 0 expects its bytes."""

    @staticmethod
    def schedule(ranks):
        a = Loaded(name="a", smem=[SmemAllocation("a", 1024)])
        full, seen = MBarrier("full", 1), MBarrier("seen", 2)

        def load():
            with domain_loop(0, N) as k, cta_rank(0):
                with k.every(1, start=1):
                    seen.wait()
                full.arrive_expect_tx(1024, cta=ranks)
                a.load(barrier=full, multicast="all")
            cluster_sync()

        def use():
            with domain_loop(0, N):
                full.wait()
                a.read()
                fence_proxy_async()
                seen.arrive(cta=0)
            cluster_sync()

        return build(role("load", 0, 1, load, [], [a]), role("use", 4, 1, use, [a]), **PAIR)

    def test_one_expects(self):
        assert {"WD301", "WD302"} & codes(self.schedule(0))

    def test_both_expect(self):
        assert proved(self.schedule("all"))


class TestCopiedThrough:
    """DeepEP#657: what is copied in is stored from; the stage is filled again while its store may still read."""

    @staticmethod
    def schedule(newest, stages=2):
        x = Loaded(name="x", smem=[SmemAllocation("x", 1024)], stages=stages)
        out, group, full = output(), AsyncGroup("bulk_store"), MBarrier("full", 1, stages)

        def load(i):
            full.arrive_expect_tx(1024, stage=i % stages)
            x.load(barrier=full, stage=i % stages)

        def store(i):
            full.wait(i // stages % 2, stage=i % stages)
            out.store(tile=x.tile(stage=i % stages))
            group.commit()

        def body():
            load(0)
            with domain_loop(0, N - 1) as i:
                store(i)
                group.wait_read(newest)
                load(i + 1)
            store(N - 1)
            group.wait_read(0)

        return build(role("copy", 0, 1, body, [x], [x, out]))

    def test_as_many_in_flight_as_stages(self):
        found = finding(self.schedule(2), "WD404")
        assert found.resources == ("x",) and found.case == (("n", 3),)

    def test_one_less(self):
        assert proved(self.schedule(1))


class TestPush:
    """Each CTA copies its tile into its peer's memory: that something has come says nothing of what has been sent."""

    class Received(MemoryResource):
        @producer_work(engine="tma")
        def push(self, stage_info, tile, barrier): ...

        @consumer_work
        def read(self, stage_info): ...

    def schedule(self, before):
        src, dst = buffer("src"), self.Received(name="dst", smem=[SmemAllocation("dst", 1024)])
        full, free, meet = MBarrier("full", 1), MBarrier("free", 4), NamedBarrier(1, 128, "meet")

        def sent(k):
            with k.every(1, start=1):
                free.wait()

        def body():
            with domain_loop(0, N) as k:
                sent(k) if before else None
                src.share()
                fence_proxy_async()
                meet.sync()
                with elect_warp(0):
                    None if before else sent(k)
                    full.arrive_expect_tx(1024)
                    dst.push(tile=src.tile(), barrier=full, cta="peer")
                full.wait()
                dst.read()
                fence_proxy_async()
                free.arrive(cta="peer")
                meet.sync()
            cluster_sync()

        return build(role("body", 0, 4, body, [src, dst], [src, dst]), **PAIR)

    def test_it_waits_before_the_next_push_alone(self):
        assert set(finding(self.schedule(False), "WD401").resources) == {"src"}

    def test_it_waits_before_the_next_tile(self):
        assert proved(self.schedule(True))


@pytest.mark.parametrize("left", [0, 1])
def test_groups_without_stores_read_nothing(left):
    """WD409 counts groups that have stores in them."""
    s, out, group = Buffer(name="s", smem=[SmemAllocation("s", 1024)]), output(), AsyncGroup("bulk_store")

    def body():
        s.fill()
        fence_proxy_async()
        out.store(tile=s.tile())
        group.commit()
        group.wait_read(left)
        group.commit()
        group.commit()

    document = build(role("body", 0, 1, body, [s], [s, out]))
    if left:
        assert "1 bulk group that" in finding(document, "WD409").message
    else:
        assert accepted(document)


def test_two_groups_take_turns_at_a_barrier_that_one_opens():
    """FlashAttention-3's order of two warpgroups: the last arrival, which nobody takes, stays."""

    def schedule(opens):
        turn = [NamedBarrier(1 + i, 256, f"turn{i}") for i in range(2)]

        def group(i):
            def body():
                turn[0].arrive() if opens and i else None
                with domain_loop(0, N):
                    turn[i].sync()
                    turn[1 - i].arrive()

            return role(f"group{i}", 4 * i, 4, body)

        return build(group(0), group(1))

    assert codes(schedule(False)) == {"WD301"} and proved(schedule(True))


def test_a_name_is_read_before_the_slot_is_given_back():
    """tilelang#2410: the consumers of a scheduler's slot arrive, then read it."""

    def schedule(late, stages=2):
        slot = buffer("slot", 16, stages=stages)
        there, done = MBarrier("there", 1, stages), MBarrier("done", 3, stages)

        def scheduler():
            with domain_loop(0, N) as i:
                done.wait((i // stages + 1) % 2, stage=i % stages)
                slot.fill(stage=i % stages)
                there.arrive(stage=i % stages)

        def consumer():
            with domain_loop(0, N) as i:
                there.wait(i // stages % 2, stage=i % stages)
                done.arrive(stage=i % stages) if late else None
                slot.read(stage=i % stages)
                None if late else done.arrive(stage=i % stages)

        consumers = (role(f"c{i}", i, 1, consumer, [slot]) for i in (1, 2, 3))
        return build(role("scheduler", 0, 1, scheduler, [], [slot]), *consumers)

    assert "WD401" in codes(schedule(True)) and proved(schedule(False))
