"""Persistent schedules: what goes wrong from one tile to the next, at its shortest sequence of tiles."""

import pytest
from kit import Ring, accepted, channel, codes, finding, ring, role

from warpdraft.core import (
    MBarrier,
    SmemAllocation,
    TaskManager,
    WorkQueue,
    domain_loop,
    fence_proxy_async,
    symbol,
    verify,
    when_false,
    when_true,
    work_tile_loop,
)


def persistent(*bodies, resources, **options):
    """Tasks of one warp that loop over tiles; ``bodies``: (name, body of a tile, sources, destinations)."""
    queue = WorkQueue(name="queue")

    def looping(body, skip_if):
        def schedule():
            with work_tile_loop(queue, skip_if=skip_if) as tile:
                body(tile)
                queue.get_and_advance_work_tile()

        return schedule

    tasks = [
        role(name, 4 * i, 1, looping(body, options.get("skip_if", {}).get(name)), [queue, *src], dst)
        for i, (name, body, src, dst) in enumerate(bodies)
    ]
    graph = {d: [s for s in src if s is not d] for _, _, src, dst in bodies for d in dst}
    return TaskManager(tasks, graph, name="case", resources=resources).document


def shortest(document, code):
    """How many tiles the finding needs, and what they are."""
    found = finding(document, code)
    tiles = next(n for n in found.notes if n.startswith("for the tiles"))
    return dict(found.case)["tiles"], tiles.removeprefix("for the tiles ").split(", ")


class TestC13:
    """The last wait of each tile does not move on: the second tile runs on the first one's data."""

    @staticmethod
    def schedule(moves_on, per_tile=False):
        x, k = ring("ds", 1), symbol("steps", min=1, per_tile=per_tile)

        def load(tile):
            with domain_loop(0, k):
                x.acquire()
                x.load()
                x.commit()

        def mma(tile):
            with domain_loop(0, k - 1):
                x.wait()
                x.read()
                fence_proxy_async()
                x.release()
            x.wait()
            x.read()
            fence_proxy_async()
            if moves_on:
                x.release()

        return persistent(("load", load, [], [x]), ("mma", mma, [x], []), resources=[x])

    @pytest.mark.parametrize("per_tile", [False, True])
    def test_the_second_tile(self, per_tile):
        report = verify(self.schedule(False, per_tile))
        assert {"WD302", "WD205", "WD411"} & {f.code for f in report.errors}
        assert min(dict(f.case)["tiles"] for f in report.errors if f.case) == 2

    @pytest.mark.parametrize("per_tile", [False, True])
    def test_releasing_after_every_wait(self, per_tile):
        document = self.schedule(True, per_tile)
        assert accepted(document) and verify(document).scope.kind == "all"


class TestC14:
    """Slot and parity start again with each tile: right for trips that are a multiple of twice the stages."""

    @staticmethod
    def schedule(trips, stages=3):
        full, empty = MBarrier("full", 1, stages), MBarrier("empty", 1, stages)
        sa = Ring(name="sa", smem=[SmemAllocation("sa", 1024)], stages=stages)

        def load(tile):
            for k in range(trips):
                empty.wait(k // stages & 1 ^ 1, stage=k % stages)
                full.arrive_expect_tx(1024, stage=k % stages)
                sa.load(full=full, stage=k % stages)

        def math(tile):
            for k in range(trips):
                full.wait(k // stages & 1, stage=k % stages)
                sa.read(stage=k % stages)
                fence_proxy_async()
                empty.arrive(stage=k % stages)

        return persistent(("load", load, [], [sa]), ("math", math, [sa], []), resources=[sa])

    @pytest.mark.parametrize("trips", [1, 4, 5])
    def test_the_second_tile(self, trips):
        report = verify(self.schedule(trips))
        assert report.errors and min(dict(f.case).get("tiles", 9) for f in report.errors) == 2

    def test_twice_the_stages(self):
        assert accepted(self.schedule(6))


class TestC16:
    """On an empty tile the correction gives a stage back that nobody filled."""

    @staticmethod
    def schedule(spurious):
        o = channel("o", 1)

        def mma(tile):
            with when_true("has_work", key="has_work"):
                o.acquire()
                o.fill()
                o.commit()

        def correct(tile):
            with when_true("has_work", key="has_work"):
                o.wait()
                o.read()
                o.release()
            if spurious:
                with when_false("has_work", key="has_work"):
                    o.release()

        return persistent(("mma", mma, [], [o]), ("correct", correct, [o], []), resources=[o])

    def test_empty_tiles_shift_the_phase(self):
        document = self.schedule(True)
        errors = [f for f in verify(document).errors if f.case]
        assert errors and any("has_work false" in n for f in errors for n in f.notes)

    def test_giving_back_what_was_filled(self):
        document = self.schedule(False)
        assert accepted(document) and "all sequences of tiles" in verify(document).scope.reason


class TestC17:
    """A gate that opens twice on empty tiles before the slow loader looks."""

    @staticmethod
    def schedule(paired):
        gate, seen, q = MBarrier("gate", 1), MBarrier("seen", 1), ring("q", 1)

        def ldg(tile):
            with when_true("has_kv", key="has_kv"):
                q.acquire()
                q.load()
                q.commit()
            gate.wait()
            if paired:
                seen.arrive()

        def stg(tile):
            with when_true("has_kv", key="has_kv"):
                q.wait()
                q.read()
                fence_proxy_async()
                q.release()
            gate.arrive()
            if paired:
                seen.wait()

        return persistent(("ldg", ldg, [], [q]), ("stg", stg, [q], []), resources=[q])

    def test_two_empty_tiles(self):
        tiles, kinds = shortest(self.schedule(False), "WD205")
        assert tiles == 2 and "has_kv false" in kinds

    def test_the_arriver_needs_the_previous_pass(self):
        document = self.schedule(True)
        assert accepted(document) and verify(document).scope.kind == "all"


class TestC46:
    """The loader ignores the predicate under which the other roles skip a tile."""

    @staticmethod
    def schedule(loader_skips):
        ab, k = ring("ab", 2), symbol("k", min=1)

        def load(tile):
            def body():
                with domain_loop(0, k):
                    ab.acquire()
                    ab.load()
                    ab.commit()

            if not loader_skips:
                return body()
            with tile.skippable():
                body()

        def use(tile):
            with tile.skippable(), domain_loop(0, k):
                ab.wait()
                ab.read()
                fence_proxy_async()
                ab.release()

        return persistent(
            ("load", load, [], [ab]),
            ("use", use, [ab], []),
            resources=[ab],
            skip_if={"load": "go", "use": "go"},
        )

    def test_commits_that_nobody_consumes(self):
        document = self.schedule(False)
        assert {"WD114", "WD302"} <= codes(document)
        tiles, kinds = shortest(document, "WD302")
        assert kinds[0] == "skipped by go" and tiles <= 3

    def test_the_same_predicate_in_every_role(self):
        document = self.schedule(True)
        assert accepted(document) and "all sequences of tiles" in verify(document).scope.reason


class TestTripsPerTile:
    """Trip counts of each tile's own."""

    @staticmethod
    def schedule(stages, drains=True, committed_once=False):
        ab, acc, k = ring("ab", stages), channel("acc", 1), symbol("k", per_tile=True)

        def load(tile):
            with domain_loop(0, k):
                ab.acquire()
                ab.load()
                ab.commit()

        def math(tile):
            if not committed_once:
                acc.acquire()
            with domain_loop(0, k) as i:
                if committed_once:
                    with i.first_iter():
                        acc.acquire()
                ab.wait()
                ab.read()
                fence_proxy_async()
                ab.release()
                if committed_once:
                    with i.last_iter():
                        acc.fill()
                        acc.commit()
            if not committed_once:
                acc.fill()
                acc.commit()

        def store(tile):
            acc.wait()
            acc.read()
            acc.release()

        return persistent(
            ("load", load, [], [ab]),
            ("math", math, [ab], [acc]),
            ("store", store, [acc], []),
            resources=[ab, acc],
        )

    @pytest.mark.parametrize("stages", [1, 2, 3, 4])
    def test_proved_for_all(self, stages):
        document = self.schedule(stages)
        report = verify(document)
        assert report.verdict == "safe" and report.scope.kind == "all" and not report.findings

    def test_an_empty_tile(self):
        """The accumulator is handed on in the last iteration: a tile without iterations hands on none."""
        found = finding(self.schedule(2, committed_once=True), "WD302")
        assert dict(found.case) == {"k": 0, "tiles": 1}

    def test_a_loop_of_another_length(self):
        """Two tasks whose loops differ only in tiles with more than two iterations."""
        ab, k = ring("ab", 2), symbol("k", per_tile=True)

        def load(tile):
            with domain_loop(0, k):
                ab.acquire()
                ab.load()
                ab.commit()

        def use(tile):
            with domain_loop(0, k + 1 - 1):
                ab.wait()
                ab.read()
                fence_proxy_async()
                ab.release()

        assert (
            verify(persistent(("load", load, [], [ab]), ("use", use, [ab], []), resources=[ab])).scope.kind
            == "all"
        )


class TestC48:
    """A task drains a pipeline that another task fills."""

    @staticmethod
    def schedule(drains):
        o, k = channel("o_store", 2), symbol("k")

        def fill():
            with domain_loop(0, k):
                o.acquire()
                o.fill()
                o.commit()
            if drains == "owner":
                o.acquire()
                o.acquire()

        def other():
            if drains == "other":
                o.acquire()
                o.acquire()

        def store():
            with domain_loop(0, k):
                o.wait()
                o.read()
                o.release()

        tasks = [role("cg1", 4, 1, fill, [], [o]), role("epilogue", 8, 1, store, [o])]
        if drains == "other":
            tasks.append(role("cg0", 0, 1, other, [], [o]))
        return TaskManager(tasks, {o: []}, name="case").document

    def test_by_another_task(self):
        found = finding(self.schedule("other"), "WD218")
        assert found.tasks == ("cg0", "cg1") and found.resources == ("o_store",)

    @pytest.mark.parametrize("drains", ["", "owner"])
    def test_by_its_owner_or_nobody(self, drains):
        assert "WD218" not in codes(self.schedule(drains))
