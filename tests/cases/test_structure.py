"""Cases F and H: loops and tiles, registers, barrier ids, budgets."""

import pytest
from kit import Buffer, K, accepted, buffer, build, channel, codes, finding, ring, role

from warpdraft.core import (
    MemoryResource,
    NamedBarrier,
    SmemAllocation,
    TmemAllocation,
    WorkQueue,
    domain_loop,
    fence_proxy_async,
    symbol,
    work_tile_loop,
)


class TestC46:
    """One role ignores the predicate by which the others skip a tile."""

    @staticmethod
    def schedule(load_skips):
        ab, queue = ring("ab", 2), WorkQueue(name="queue", tiles=symbol("tiles"))

        def load():
            with work_tile_loop(queue, skip_if="empty") as tile:
                if load_skips:
                    with tile.skippable(), domain_loop(0, K):
                        fill()
                else:
                    with domain_loop(0, K):
                        fill()
                queue.get_and_advance_work_tile()

        def fill():
            ab.acquire()
            ab.load()
            ab.commit()

        def math():
            with work_tile_loop(queue, skip_if="empty") as tile:
                with tile.skippable(), domain_loop(0, K):
                    ab.wait()
                    ab.read()
                    fence_proxy_async()
                    ab.release()
                queue.get_and_advance_work_tile()

        return build(role("load", 0, 1, load, [queue], [ab]), role("math", 4, 4, math, [queue, ab]))

    def test_commits_that_nobody_consumes(self):
        found = codes(self.schedule(False))
        assert {"WD210", "WD302"} <= found
        assert any("empty" in note for note in finding(self.schedule(False), "WD302").notes)

    def test_the_same_predicate_in_every_role(self):
        assert accepted(self.schedule(True))


class TestC57:
    """Registers that can never be had."""

    @staticmethod
    def schedule(producer, consumer, consumers):
        x = channel("x", 2)

        def fill():
            with domain_loop(0, K):
                x.acquire()
                x.share()
                x.commit()

        def read():
            with domain_loop(0, K):
                x.wait()
                x.read()
                x.release()

        tasks = [role(f"c{i}", 4 + 4 * i, 4, read, [x], [], consumer) for i in range(consumers)]
        return build(role("prod", 0, 4, fill, [], [x], producer), *tasks)

    @pytest.mark.parametrize(
        ("producer", "consumer", "consumers"),
        [(24, 240, 3), (None, 176, 2), (40, 240, 2), (24, 240, 4)],
    )
    def test_more_than_the_launch_has(self, producer, consumer, consumers):
        found = finding(self.schedule(producer, consumer, consumers), "WD303")
        assert set(found.tasks) == {f"c{i}" for i in range(consumers)}  # whose increase waits
        assert codes(self.schedule(producer, consumer, consumers)) == {"WD303", "WD603"}

    @pytest.mark.parametrize(
        ("producer", "consumer", "consumers"), [(24, 240, 2), (40, 232, 2), (None, None, 3)]
    )
    def test_what_fits(self, producer, consumer, consumers):
        assert accepted(self.schedule(producer, consumer, consumers))

    @pytest.mark.parametrize("registers", [8, 16, 20, 260])
    def test_counts_that_do_not_exist(self, registers):  # P26 too
        assert "WD603" in codes(self.schedule(registers, None, 1))

    def test_one_warpgroup_two_counts(self):
        found = build(
            role("a", 0, 2, lambda: None, registers=40), role("b", 2, 2, lambda: None, registers=48)
        )
        assert codes(found) == {"WD603"}


class TestC58:
    """Ids of named barriers."""

    @staticmethod
    def schedule(left, right):
        a, b = NamedBarrier(left, 128, "a"), NamedBarrier(right, 128, "b")
        return build(role("wg0", 0, 4, a.sync), role("wg1", 4, 4, b.sync))

    def test_an_id_that_does_not_exist(self):
        assert finding(self.schedule(17, 1), "WD209").resources == ("a",)

    def test_two_groups_on_one_id(self):
        found = finding(self.schedule(1, 1), "WD209")
        assert set(found.tasks) == {"wg0", "wg1"}

    def test_one_object_in_two_groups(self):
        meet = NamedBarrier(1, 128, "meet")
        assert codes(build(role("wg0", 0, 4, meet.sync), role("wg1", 4, 4, meet.sync))) == {"WD209"}

    def test_an_id_for_each_group(self):
        assert accepted(self.schedule(1, 2))

    def test_one_id_for_groups_in_order(self):
        first, again, between = (
            NamedBarrier(1, 128, "first"),
            NamedBarrier(1, 128, "again"),
            NamedBarrier(2, 256, "between"),
        )

        def wg0():
            first.sync()
            between.arrive()

        def wg1():
            between.sync()
            again.sync()

        assert accepted(build(role("wg0", 0, 4, wg0), role("wg1", 4, 4, wg1)))

    def test_half_a_warp(self):
        meet = NamedBarrier(1, 100, "meet")
        assert "WD209" in codes(build(role("wg0", 0, 4, meet.sync)))


class TestC59:
    """Memory over budget."""

    def test_shared_memory(self):
        w = Buffer(name="w", smem=[SmemAllocation("w", 1048576)])
        x = Buffer(name="x", smem=[SmemAllocation("x", 131072)])

        def both():
            w.fill()
            x.fill()

        found = finding(build(role("both", 0, 1, both, [], [w, x])), "WD601")
        assert found.actual == "1179648 B" and found.expected == "at most 232448 B"

    @pytest.mark.parametrize(
        ("columns", "wrong"), [((256, 256, 64), True), ((256, 64), False), ((48,), True), ((16,), True)]
    )
    def test_tensor_memory(self, columns, wrong):
        accs = [
            MemoryResource(name=f"acc{i}", tmem=[TmemAllocation(f"acc{i}", n)]) for i, n in enumerate(columns)
        ]
        found = build(role("idle", 0, 1, lambda: None), resources=accs)
        assert codes(found) == ({"WD602"} if wrong else set())


class TestBytesThatAreNotThere:
    """A footprint beyond its stage, or for some of the warps."""

    @staticmethod
    def schedule(footprint, warps=1):
        x = buffer("x", 64)
        return build(role("t", 0, warps, lambda: x.fill(footprint=footprint), [], [x]))

    @pytest.mark.parametrize("footprint", [(0, 65), (1000, 500), [(64, 8)]])
    def test_beyond_the_stage(self, footprint):
        assert codes(self.schedule(footprint)) == {"WD109"}

    def test_of_some_warps(self):
        assert "WD109" in codes(self.schedule([(0, 32), (32, 32)], warps=3))

    def test_the_whole_stage(self):
        assert accepted(self.schedule((0, 64))) and accepted(self.schedule([(0, 32), (32, 32)], warps=2))
