"""Case G: dependent launches (PDL)."""

import pytest
from kit import K, Output, accepted, buffer, codes, drain, finding, output, ring, role

from warpdraft.core import (
    AsyncGroup,
    MemoryResource,
    NamedBarrier,
    PdlLaunchBarrier,
    PdlWaitBarrier,
    TaskManager,
    WorkQueue,
    consumer_work,
    domain_loop,
    fence_proxy_async,
    verify,
    when_true,
    work_tile_loop,
)


class Gmem(MemoryResource):
    """A global tensor whose coordinates are computed, or that is seen through a view."""

    @consumer_work
    def coords(self, stage_info): ...

    @consumer_work(view=True, returns="rows")
    def rows(self, stage_info): ...


def managed(tasks, graph, **options):
    return TaskManager(tasks, graph, name="case", **options).document


class TestC53:
    """The first read of what the preceding grid wrote comes before any wait for that grid."""

    @staticmethod
    def schedule(wait, on="ring", where="head"):
        pdl, x, source = PdlWaitBarrier(name="pdl_wait"), ring("dpsum"), Gmem(name="g_dpsum", space="gmem")

        def load():
            if wait and where == "head":
                pdl.wait_griddep()
            with domain_loop(0, K) as k:
                if wait and where == "first":
                    with k.first_iter():
                        pdl.wait_griddep()
                x.acquire()
                x.load()
                x.commit()
                if wait and where == "late":
                    pdl.wait_griddep()

        graph = {x: [source, pdl]} if on == "ring" else {x: [source], source: [pdl]}
        return managed([role("load", 0, 1, load, [source, pdl], [x]), drain(x)], graph)

    @pytest.mark.parametrize("on", ["ring", "gmem"])
    def test_no_wait(self, on):
        found = finding(self.schedule(False, on), "WD702")
        assert found.ops[0].startswith("load.") and found.tasks == ("load",)

    def test_the_wait_comes_behind_the_first_copy(self):
        assert codes(self.schedule(True, where="late")) == {"WD702"}

    @pytest.mark.parametrize("on", ["ring", "gmem"])
    @pytest.mark.parametrize("where", ["head", "first"])
    def test_waiting_first(self, on, where):
        document = self.schedule(True, on, where)
        report = verify(document)
        assert not report.errors and report.scope.kind == "all"

    def test_a_constructor_reads_before_the_wait(self):
        """flashinfer#5081: the wait is there, but something reads before it."""
        pdl, source, x = PdlWaitBarrier(name="pdl_wait"), Gmem(name="g", space="gmem"), buffer("x")

        def load(early):
            def body():
                if early:
                    x.fill(rows=source.rows())
                pdl.wait_griddep()
                x.fill(rows=source.rows())

            return body

        def document(early):
            return managed(
                [role("load", 0, 1, load(early), [source, pdl], [x])], {x: [source], source: [pdl]}
            )

        assert "WD702" in codes(document(True))
        assert "WD702" not in codes(document(False))

    @pytest.mark.parametrize("meets", [True, False])
    def test_another_warp_that_waited_tells(self, meets):
        pdl, x, meet = PdlWaitBarrier(name="pdl_wait"), ring("x"), NamedBarrier(1, 64, "meet")

        def first():
            pdl.wait_griddep()
            if meets:
                meet.sync()

        def load():
            if meets:
                meet.sync()
            with domain_loop(0, K):
                x.acquire()
                x.load()
                x.commit()

        document = managed(
            [role("first", 8, 1, first, [pdl]), role("load", 0, 1, load, [], [x]), drain(x)], {x: [pdl]}
        )
        assert accepted(document) if meets else codes(document) == {"WD702"}

    @pytest.mark.parametrize("waits", [True, False])
    def test_writing_what_the_preceding_grid_uses(self, waits):
        pdl, x, out = (
            PdlWaitBarrier(name="pdl_wait"),
            buffer("x"),
            Output(name="out", space="gmem"),
        )

        def body():
            group = AsyncGroup("bulk_store")
            x.fill()
            fence_proxy_async()
            if waits:
                pdl.wait_griddep()
            out.store(tile=x.tile())
            group.commit()
            group.wait(0)

        document = managed([role("st", 0, 1, body, [x, pdl], [x, out])], {out: [x, pdl]})
        assert accepted(document) if waits else codes(document) == {"WD702"}

    def test_what_does_not_depend_may_be_fetched_early(self):
        pdl, weights, x = PdlWaitBarrier(name="pdl_wait"), ring("weights", 1), ring("x")

        def load():
            weights.acquire()
            weights.load()
            weights.commit()
            pdl.wait_griddep()
            with domain_loop(0, K):
                x.acquire()
                x.load()
                x.commit()

        def use():
            weights.wait()
            weights.read()
            with domain_loop(0, K):
                x.wait()
                x.read()
                fence_proxy_async()
                x.release()

        document = managed(
            [role("load", 0, 1, load, [pdl], [weights, x]), role("use", 4, 1, use, [weights, x])],
            {x: [pdl], weights: []},
        )
        assert "WD702" not in {f.code for f in verify(document).findings}


class TestC55:
    """The next grid may start before all warps have stored."""

    @staticmethod
    def schedule(successor_waits, meet=False, last=True):
        launch, out, x = (
            PdlLaunchBarrier(name="launch", successor_waits=successor_waits),
            output(),
            buffer("x"),
        )

        def quant():
            group = AsyncGroup("bulk_store")
            x.fill(footprint="warp_slice")
            fence_proxy_async()
            NamedBarrier(2, 256, "filled").sync()
            out.store(tile=x.tile(footprint="warp_slice"))
            group.commit()
            group.wait(0)
            if meet:
                NamedBarrier(1, 256, "meet").sync()
            launch.launch_griddep()

        return managed([role("quant", 0, 8, quant, [x], [x, out, launch])], {out: [x]})

    def test_a_successor_that_does_not_wait(self):
        found = finding(self.schedule(False), "WD701")
        assert found.severity == "error" and {"launch", "out"} == set(found.resources)

    def test_a_meeting_before_the_launch(self):
        assert accepted(self.schedule(False, meet=True))

    def test_a_successor_that_waits(self):
        report = verify(self.schedule(True))
        assert report.verdict == "safe" and not report.findings
        assert any("no preceding grid" in a for a in report.scope.assumed)


class TestLaunch:
    """A launch, and the wait for the preceding grid."""

    @staticmethod
    def schedule(body, persistent=False):
        pdl, launch, x = PdlWaitBarrier(name="pdl_wait"), PdlLaunchBarrier(name="pdl_launch"), ring("x")
        queue = WorkQueue(name="queue")

        def ringed():
            with domain_loop(0, K):
                x.acquire()
                x.load()
                x.commit()

        def load():
            if not persistent:
                return body(pdl, launch, ringed)
            with work_tile_loop(queue) as tile:
                body(pdl, launch, ringed, tile)
                queue.get_and_advance_work_tile()

        def use():
            def read():
                with domain_loop(0, K):
                    x.wait()
                    x.read()
                    fence_proxy_async()
                    x.release()

            if not persistent:
                return read()
            with work_tile_loop(queue):
                read()
                queue.get_and_advance_work_tile()

        sources = [queue] if persistent else []
        return managed(
            [role("load", 0, 1, load, [pdl, *sources], [x, launch]), role("use", 4, 1, use, [x, *sources])],
            {x: [pdl]},
        )

    def test_launching_first_is_a_warning(self):
        def body(pdl, launch, rest):
            launch.launch_griddep()
            pdl.wait_griddep()
            rest()

        report = verify(self.schedule(body))
        assert [(f.code, f.severity) for f in report.findings] == [("WD701", "warning")]
        assert report.verdict == "safe"

    def test_launching_behind_the_wait(self):
        def body(pdl, launch, rest):
            pdl.wait_griddep()
            launch.launch_griddep()
            rest()

        assert accepted(self.schedule(body))

    def test_a_grid_that_waits_on_one_path_only(self):
        def body(pdl, launch, rest):
            with when_true("late", key="late"):
                pdl.wait_griddep()
            launch.launch_griddep()

        def document():
            pdl, launch = PdlWaitBarrier(name="pdl_wait"), PdlLaunchBarrier(name="pdl_launch")
            return managed([role("only", 0, 1, lambda: body(pdl, launch, None), [pdl], [launch])], {})

        found = [f for f in verify(document()).errors if f.code == "WD701"]
        assert found and "without having waited" in found[0].message and "late" in " ".join(found[0].notes)

    def test_a_persistent_grid_has_a_tile_somewhere(self):
        def body(pdl, launch, rest, tile):
            with tile.first_iter():
                pdl.wait_griddep()
                launch.launch_griddep()
            rest()

        assert accepted(self.schedule(body, persistent=True))
