"""Case C: phases and parity."""

import pytest
from kit import K, Ring, accepted, build, channel, codes, finding, output, ring, role

from warpdraft.core import (
    AsyncGroup,
    MBarrier,
    NamedBarrier,
    Signal,
    SmemAllocation,
    domain_loop,
    fence_proxy_async,
    symbol,
    verify,
    when_true,
)

TILES, STEPS = 2, 2


class TestC13:
    """One wait in the tail forgets to flip the parity: tile 0 is fine, tile 1 is not."""

    @staticmethod
    def schedule(flips, tiles=TILES):
        full, empty = MBarrier("ds_full", 8), MBarrier("ds_empty", 1)

        def comp():
            for n in range(tiles * STEPS):
                if n:
                    empty.wait((n - 1) & 1)
                full.arrive()

        def mma():
            parity = 0
            for _ in range(tiles):
                for step in range(STEPS):
                    full.wait(parity)
                    if flips or step < STEPS - 1:
                        parity ^= 1
                    empty.arrive()

        return build(role("comp", 4, 8, comp), role("mma", 12, 1, mma))

    def test_the_second_tile_hangs_or_runs_on_old_data(self):
        assert "WD204" in codes(self.schedule(False))

    def test_one_tile_is_fine(self):
        assert accepted(self.schedule(False, tiles=1))

    def test_flipping_after_every_wait(self):
        assert accepted(self.schedule(True))


class TestC14:
    """Slot and parity start again with each tile: right only where the trips are a multiple of twice the stages."""

    STAGES = 3

    def schedule(self, k_trips, carried):
        full, empty = MBarrier("full", 1, self.STAGES), MBarrier("empty", 1, self.STAGES)
        sa = Ring(name="sa", smem=[SmemAllocation("sa", 1024)], stages=self.STAGES)

        def places():
            for tile in range(2):
                for k in range(k_trips):
                    n = tile * k_trips + k if carried else k
                    yield n % self.STAGES, n // self.STAGES & 1

        def load():
            for slot, parity in places():
                empty.wait(parity ^ 1, stage=slot)
                full.arrive_expect_tx(1024, stage=slot)
                sa.load(full=full, stage=slot)

        def math():
            for slot, parity in places():
                full.wait(parity, stage=slot)
                sa.read(stage=slot)
                fence_proxy_async()
                empty.arrive(stage=slot)

        return build(role("load", 0, 1, load, [], [sa]), role("math", 4, 1, math, [sa]))

    def test_four_trips(self):
        assert "WD204" in codes(self.schedule(4, carried=False))

    @pytest.mark.parametrize("k_trips", [1, 3, 5, 7])
    def test_other_residues_fail_too(self, k_trips):
        assert codes(self.schedule(k_trips, carried=False))

    @pytest.mark.parametrize(
        ("k_trips", "carried"), [(6, False), (12, False), (4, True), (5, True), (6, True)]
    )
    def test_multiples_and_carried_parity(self, k_trips, carried):
        assert accepted(self.schedule(k_trips, carried))


class TestC17:
    """A gate that can open twice before the slow loader looks: one parity bit cannot show that."""

    @staticmethod
    def schedule(paired):
        gate, n = MBarrier("gate", 1), symbol("tiles")
        q, out = ring("q", 1), output()

        def ldg():
            with domain_loop(0, n):
                with when_true("has_kv", key="has_kv"):
                    q.acquire()
                    q.load()
                    q.commit()
                gate.wait()
                if paired:
                    seen.arrive()

        def stg():
            group = AsyncGroup("bulk_store")
            with domain_loop(0, n):
                with when_true("has_kv", key="has_kv"):
                    q.wait()
                    q.read()
                    fence_proxy_async()
                    q.release()
                group.wait_read(0)
                gate.arrive()
                if paired:
                    seen.wait()

        seen = MBarrier("seen", 1)
        return build(role("ldg", 0, 1, ldg, [], [q]), role("stg", 1, 1, stg, [q]), resources=[out])

    def test_the_gate_laps_the_loader_on_empty_tiles(self):
        found = finding(self.schedule(False), "WD205")
        assert "ldg" in found.tasks and dict(found.case)["tiles"] == 2
        assert any("has_kv" in note for note in found.notes)

    def test_the_arriver_needs_the_previous_pass(self):
        assert accepted(self.schedule(True))


class TestC18:
    """The leader releases for warps that still wait."""

    @staticmethod
    def schedule(warps, meet):
        s = channel(
            "s", 1, producer_signaling_threads=Signal.LEADER, consumer_signaling_threads=Signal.LEADER
        )

        def prod():
            with domain_loop(0, K):
                s.acquire()
                s.share()
                if meet:
                    NamedBarrier(1, 32 * warps, "prod_meet").sync()
                s.commit()

        def cons():
            with domain_loop(0, K):
                s.wait()
                s.read()
                if meet:
                    NamedBarrier(2, 32 * warps, "cons_meet").sync()
                s.release()

        return build(role("prod", 0, warps, prod, [], [s]), role("cons", 4, warps, cons, [s]))

    def test_siblings_are_lapped(self):
        report = verify(self.schedule(4, meet=False))
        assert "WD205" in {f.code for f in report.errors}
        found = next(f for f in report.findings if f.code == "WD205")
        assert any("w1" in found.message for found in report.findings if found.code == "WD205"), found.message

    def test_one_warp_has_no_siblings(self):
        assert accepted(self.schedule(1, meet=False))

    def test_meeting_before_the_leader_arrives(self):
        assert accepted(self.schedule(4, meet=True))


class TestN3:
    """Two waits of opposite parity for one release: a wait consumes nothing."""

    def test_accepted(self):
        empty, full, trips = MBarrier("empty", 1), MBarrier("full", 1), 5

        def writer():
            for i in range(trips):
                empty.wait((i & 1) ^ 1)
                full.arrive()
                empty.wait(i & 1)

        def reader():
            for i in range(trips):
                full.wait(i & 1)
                empty.arrive()

        assert accepted(build(role("writer", 0, 1, writer), role("reader", 4, 1, reader)))
