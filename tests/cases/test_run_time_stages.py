"""Cases whose stages and parities are computed with the variables of run-time loops: C14, C27 and N3."""

from dataclasses import replace

import pytest
from kit import K, Ring, accepted, buffer, build, codes, finding, output, role

from warpdraft.core import (
    AsyncGroup,
    MBarrier,
    SmemAllocation,
    WorkQueue,
    domain_loop,
    equal_schedules,
    fence_proxy_async,
    loads,
    symbol,
    to_python,
    verify,
    when_false,
    work_tile_loop,
)
from warpdraft.core.store import dumps

TILES = symbol("tiles")


def proved(document) -> bool:
    """Whether the verdict is safe for all trip counts."""
    report = verify(document)
    assert report.findings == (), [(f.code, f.message) for f in report.findings]
    return (report.verdict, report.scope.kind) == ("safe", "all")


class TestC14:
    """Slot and parity from the iteration, which starts again with each tile unless it is carried over."""

    STAGES = 3

    def schedule(self, k_trips, tiles, carried, queue=False):
        full, empty = MBarrier("full", 1, self.STAGES), MBarrier("empty", 1, self.STAGES)
        sa = Ring(name="sa", smem=[SmemAllocation("sa", 1024)], stages=self.STAGES)
        work_queue = WorkQueue(name="queue", tiles=tiles)

        def over_tiles(body):
            if not queue:
                with domain_loop(0, tiles) as tile:
                    body(tile)
                return
            work_queue.init_work_tile()
            with work_tile_loop(work_queue) as tile:
                body(tile)
                work_queue.get_and_advance_work_tile()

        def load():
            def body(tile):
                with domain_loop(0, k_trips) as k:
                    it = tile * k_trips + k if carried else k
                    empty.wait(phase=it // 3 % 2 ^ 1, stage=it % 3)
                    full.arrive_expect_tx(1024, stage=it % 3)
                    sa.load(full=full, stage=it % 3)

            over_tiles(body)

        def math():
            def body(tile):
                with domain_loop(0, k_trips) as k:
                    it = tile * k_trips + k if carried else k
                    full.wait(phase=(it // 3) & 1, stage=it % 3)
                    sa.read(stage=it % 3)
                    fence_proxy_async()
                    empty.arrive(stage=it % 3)

            over_tiles(body)

        given = [work_queue] if queue else []
        return build(role("load", 0, 1, load, given, [sa]), role("math", 4, 1, math, [sa, *given]))

    def test_four_trips(self):
        assert "WD204" in codes(self.schedule(4, 2, carried=False))

    def test_one_tile_is_fine_for_all_trip_counts(self):
        assert proved(self.schedule(K, 1, carried=False))

    @pytest.mark.parametrize("k_trips", [6, 12])
    def test_multiples_of_twice_the_stages(self, k_trips):
        assert accepted(self.schedule(k_trips, 2, carried=False))
        assert proved(self.schedule(k_trips, TILES, carried=False))

    def test_only_those(self):
        assert verify(self.schedule(K, 2, carried=False), trip_counts={"k": [6, 12, 18]}).verdict == "safe"
        for k_trips in (1, 2, 3, 4, 5, 7, 8, 9):
            assert codes(self.schedule(k_trips, 2, carried=False)), k_trips
        assert verify(self.schedule(K, 2, carried=False)).verdict == "unsafe"

    @pytest.mark.parametrize(("k_trips", "tiles"), [(4, TILES), (5, TILES), (K, 2), (K, TILES)])
    def test_carried_over_the_tiles(self, k_trips, tiles):
        assert proved(self.schedule(k_trips, tiles, carried=True))

    def test_tiles_of_a_queue(self):
        assert proved(self.schedule(K, TILES, carried=True, queue=True))
        assert "WD204" in codes(self.schedule(4, 2, carried=False, queue=True))

    def test_a_proof_says_no_more_than_the_runs(self):
        document = self.schedule(K, TILES, carried=True)
        for k_trips in (1, 2, 4, 7, 11, 17, 23):
            assert verify(document, trip_counts={"k": [k_trips], "tiles": [1, 4, 7]}).verdict == "safe"


class TestC27:
    """The store's read is waited for at a fixed iteration: right where the trips are a multiple of the depth."""

    STAGES = 4

    def schedule(self, k_trips, tasks=2, at_start=False):
        full, empty = MBarrier("full", 1, self.STAGES), MBarrier("empty", 1, self.STAGES)
        ab = Ring(name="ab", smem=[SmemAllocation("ab", 1024)], stages=self.STAGES)
        c, out = buffer("c", size=1024), output()
        done, group = MBarrier("done", 1), AsyncGroup("bulk_store")
        first = 0 if at_start else self.STAGES - 1

        def fill(task, start, stop):
            with domain_loop(start, stop) as k:
                n = task * k_trips + k
                empty.wait(phase=1 - n // 4 % 2, stage=n % 4)
                full.arrive_expect_tx(1024, stage=n % 4)
                ab.load(full=full, stage=n % 4)

        def prod():
            with domain_loop(0, tasks) as task:
                fill(task, 0, first)
                group.wait_read(0)
                fill(task, first, k_trips)
                done.wait(phase=task % 2)
                out.store(tile=c.tile())
                group.commit()
            group.wait_read(0)

        def math():
            with domain_loop(0, tasks) as task:
                with domain_loop(0, k_trips) as k:
                    n = task * k_trips + k
                    full.wait(phase=n // 4 % 2, stage=n % 4)
                    ab.read(stage=n % 4)
                    fence_proxy_async()
                    empty.arrive(stage=n % 4)
                c.fill()
                fence_proxy_async()
                done.arrive()

        document = build(role("prod", 0, 1, prod, [c], [ab, out]), role("math", 4, 1, math, [ab], [c]))
        places = {"ab": 1024, "c": 1024 + (self.STAGES - 1) * 1024}
        return replace(
            document,
            resources=tuple(
                replace(r, storage=replace(r.storage, offset=places[r.name])) if r.name in places else r
                for r in document.resources
            ),
        )

    @pytest.mark.parametrize("k_trips", [5, 6, 7, 9])
    def test_trips_that_are_no_multiple_of_the_depth(self, k_trips):
        assert codes(self.schedule(k_trips)) & {"WD402", "WD404"}

    def test_trips_that_are(self):
        assert accepted(self.schedule(8))
        assert proved(self.schedule(8, tasks=symbol("tasks")))

    @pytest.mark.parametrize("k_trips", [5, 6, 7, 8])
    def test_wait_at_the_start(self, k_trips):
        assert proved(self.schedule(k_trips, tasks=symbol("tasks"), at_start=True))


class TestN3:
    """Two waits of opposite parity for one release: a wait consumes nothing."""

    @staticmethod
    def schedule(opposite=True):
        empty, full = MBarrier("empty", 1), MBarrier("full", 1)

        def writer():
            with domain_loop(0, K) as k:
                empty.wait(phase=(k & 1) ^ 1)
                full.arrive()
                empty.wait(phase=k % 2 if opposite else (k + 1) % 2)

        def reader():
            with domain_loop(0, K) as k:
                full.wait(phase=k % 2)
                empty.arrive()

        return build(role("writer", 0, 1, writer), role("reader", 4, 1, reader))

    def test_safe_for_all_trip_counts(self):
        assert proved(self.schedule())

    def test_the_same_parity_twice(self):
        assert verify(self.schedule(opposite=False)).verdict == "unsafe"


class TestOutOfRange:
    """A stage that no barrier has, a parity that is neither 0 nor 1, a name that nothing gives."""

    @staticmethod
    def schedule(stage=lambda k: k % 2, phase=lambda k: k // 2 % 2, stages=2):
        full = MBarrier("full", 1, stages)

        def arrive():
            with domain_loop(0, K) as k:
                full.arrive(stage=k % 2)

        def wait():
            with domain_loop(0, K) as k:
                full.wait(phase=phase(k), stage=stage(k))

        return build(role("arrive", 0, 1, arrive), role("wait", 4, 1, wait))

    def test_a_stage(self):
        found = finding(self.schedule(stage=lambda k: k), "WD109")
        assert "no stage 2" in found.message and found.ops == ("wait.02",) and dict(found.case)["k"] == 3
        assert found.actual == "k"

    def test_a_parity(self):
        found = finding(self.schedule(phase=lambda k: k // 2), "WD109")
        assert "parity 2" in found.message and found.ops == ("wait.02",)

    def test_division_by_zero(self):
        found = finding(self.schedule(stage=lambda k: k // (symbol("zero") * 0)), "WD109")
        assert "cannot be computed" in found.message

    def test_the_variable_of_a_loop_that_is_over(self):
        full = MBarrier("full", 1, 2)

        def both():
            with domain_loop(0, K) as k:
                full.arrive(stage=0)
            full.wait(phase=0, stage=k % 2)

        found = finding(build(role("both", 0, 1, both)), "WD109")
        assert "depends on k, which is neither" in found.message


class TestPeeks:
    """``try_wait`` of a raw mbarrier, and the wait where it says no."""

    @staticmethod
    def schedule(between):
        full, empty = MBarrier("full", 1), MBarrier("empty", 1)
        data = buffer("data")

        def write():
            with domain_loop(0, K) as k:
                empty.wait(phase=1 - k % 2)
                data.fill()
                full.arrive()

        def read():
            with domain_loop(0, K) as k:
                ready = full.try_wait(phase=k % 2)
                if between:
                    fence_proxy_async()
                with when_false(ready):
                    full.wait(phase=k % 2)
                data.read()
                empty.arrive()

        return build(role("write", 0, 1, write, [], [data]), role("read", 4, 1, read, [data]))

    def test_the_wait_at_once(self):
        assert proved(self.schedule(between=False))

    def test_later_it_is_not_decided(self):
        report = verify(self.schedule(between=True))
        assert report.verdict == "incomplete" and "peek at an mbarrier" in report.scope.reason


SCHEDULES = [
    TestC14().schedule(K, TILES, carried=True, queue=True),
    TestC27().schedule(6),
    TestN3.schedule(),
    TestPeeks.schedule(False),
    TestPeeks.schedule(True),
]


@pytest.mark.parametrize("document", SCHEDULES, ids=["C14", "C27", "N3", "peek", "later peek"])
def test_written_and_read_back(document):
    assert loads(dumps(document)) == document
    space: dict = {}
    exec(to_python(document), space)
    placed = [replace(r.storage, offset=None) if r.storage else None for r in document.resources]
    bare = replace(
        document,
        resources=tuple(replace(r, storage=s) for r, s in zip(document.resources, placed, strict=True)),
    )
    again = space["build"]().document
    assert equal_schedules(again, bare) or equal_schedules(again, document)
