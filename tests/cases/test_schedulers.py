"""Case G: dynamic tile schedulers (cluster launch control)."""

import pytest
from kit import accepted, codes, finding, ring, role

from warpdraft.core import (
    MemoryResource,
    PipelineConfig,
    SmemAllocation,
    TaskManager,
    TileSchedulerConfig,
    WorkQueue,
    consumer_work,
    create_clc_fetch_async_pipeline_cfg,
    cta_rank,
    domain_loop,
    fence_proxy_async,
    producer_work,
    symbol,
    verify,
    work_tile_loop,
)

CLC = TileSchedulerConfig.create_clc_dynamic_persistent_tile_scheduler_params()
READERS = 3  # tasks of one warp


def queue(stages=1, consumer_group=32 * READERS, ctas=1, **more):
    config = create_clc_fetch_async_pipeline_cfg(
        num_stages=stages,
        num_bytes=16,
        producer_group=1,
        consumer_group=consumer_group,
        cta_layout_vmnk=(1, ctas, 1, 1),
    )
    return WorkQueue(CLC, name="wq", pipeline_config=config, tiles=symbol("tiles", 1), **more)


def fetch(wq):
    wq.acquire()
    wq.fetch_work_tile()
    wq.commit()


def read(wq):
    wq.try_wait()
    wq.wait()
    wq.get_and_advance_work_tile()
    wq.release()


def schedule(wq=None, *, before=0, after=0, load_reads=read, target="sm_100a", fetchers=1, ctas=1):
    """A scheduler warp, a loader and a consumer; ``before`` and ``after``: requests around the scheduler's loop."""
    wq, x, k = wq or queue(), ring("x", 2), symbol("k")

    def sched():
        for _ in range(before):
            fetch(wq)
        with work_tile_loop(wq):
            fetch(wq)
            read(wq)
        for _ in range(after):
            fetch(wq)

    def load():
        with work_tile_loop(wq):
            with domain_loop(0, k):
                x.acquire()
                x.load()
                x.commit()
            if fetchers > 1:
                fetch(wq)
            load_reads(wq)

    def use():
        with work_tile_loop(wq):
            with domain_loop(0, k):
                x.wait()
                x.read()
                fence_proxy_async()
                x.release()
            read(wq)

    tasks = [
        role("sched", 0, 1, sched, [wq], [wq]),
        role("load", 1, 1, load, [wq], [x, wq] if fetchers > 1 else [x]),
        role("use", 4, 1, use, [wq, x]),
    ]
    return TaskManager(tasks, {x: [wq]}, name="case", target=target, cluster=(ctas, 1, 1)).document


class TestC56:
    @pytest.mark.parametrize("stages", [1, 2, 3])
    def test_one_request_a_tile(self, stages):
        document = schedule(queue(stages))
        assert accepted(document) and verify(document).scope.kind == "all"

    @pytest.mark.parametrize("after", [1, 2])
    def test_requests_behind_a_failed_one(self, after):
        """A tail that requests as often as there are stages, though nothing is left."""
        found = finding(schedule(queue(2), after=after), "WD705")
        assert found.tasks[0] == "sched" and "none is left" in found.message

    def test_requests_ahead_are_made_before_the_failure_is_seen(self):
        """A second request in flight: it is submitted before anyone reads the response that fails."""
        assert "none is left" not in " ".join(f.message for f in verify(schedule(queue(2), before=1)).errors)

    def test_only_from_sm_100_on(self):
        assert "WD705" in codes(schedule(target="sm_90a"))

    def test_two_tasks_that_request(self):
        assert "WD705" in codes(schedule(fetchers=2))

    def test_a_reader_that_is_not_counted(self):
        def no_release(wq):
            wq.wait()
            wq.get_and_advance_work_tile()

        found = [f for f in verify(schedule(load_reads=no_release)).errors if f.code == "WD705"]
        assert any("not counted" in f.message and f.tasks == ("load",) for f in found)

    def test_a_count_that_leaves_one_out(self):
        assert "WD201" in codes(schedule(queue(1, consumer_group=32 * (READERS - 1))))

    def test_reading_after_the_release(self):
        def late(wq):
            wq.wait()
            wq.release()
            wq.get_and_advance_work_tile()

        assert "WD705" in codes(schedule(load_reads=late))

    def test_reading_without_waiting(self):
        def hasty(wq):
            wq.get_and_advance_work_tile()
            wq.release()

        assert "WD705" in codes(schedule(load_reads=hasty))

    def test_a_read_that_does_not_fence(self):
        assert codes(schedule(queue(1, insert_fence=False))) == {"WD705"}

    def test_a_queue_without_slots(self):
        bare = WorkQueue(CLC, name="wq", tiles=symbol("tiles", 1))

        def body():
            with work_tile_loop(bare):
                bare.get_and_advance_work_tile()

        document = TaskManager([role("t", 0, 1, body, [bare])], {}, name="case", target="sm_100a").document
        assert "WD705" in codes(document)

    @pytest.mark.parametrize("place", ["skippable", "loop", "twice", "before"])
    def test_the_queue_advances_once_in_the_tail(self, place):
        wq = WorkQueue(name="q", tiles=symbol("tiles"))

        def body():
            with work_tile_loop(wq, skip_if="empty") as tile:
                with tile.skippable():
                    with domain_loop(0, symbol("k")):
                        if place == "loop":
                            wq.get_and_advance_work_tile()
                    if place == "skippable":
                        wq.get_and_advance_work_tile()
                if place in ("twice", "before"):
                    wq.get_and_advance_work_tile()
                if place == "twice":
                    wq.get_and_advance_work_tile()
                if place == "before":
                    with domain_loop(0, symbol("k")):
                        pass

        document = TaskManager([role("t", 0, 1, body, [wq])], {}, name="case").document
        assert "WD111" in codes(document)


def clustered(stages=1, consumer_group=None, ctas=2, **more):
    """The same in a cluster: one request, of CTA 0, for all; every reader of every CTA gives CTA 0's slot back."""
    counted = 32 * READERS * ctas if consumer_group is None else consumer_group
    return schedule(queue(stages, counted, ctas), ctas=ctas, **more)


class TestClusters:
    """The response goes to all CTAs, and CTA 0 waits for all of them."""

    @pytest.mark.parametrize("ctas", [2, 4])
    @pytest.mark.parametrize("stages", [1, 2])
    def test_one_request_for_all(self, stages, ctas):
        document = clustered(stages, ctas=ctas)
        report = verify(document)
        assert accepted(document) and report.scope.kind == "all" and not report.scope.assumed

    def test_readers_of_one_cta_are_counted(self):
        assert "WD201" in codes(clustered(consumer_group=32 * READERS))

    @pytest.mark.parametrize("after", [1, 2])
    def test_requests_behind_a_failed_one(self, after):
        found = finding(clustered(2, after=after), "WD705")
        assert found.tasks[0] == "sched" and "none is left" in found.message

    def test_requests_ahead_are_made_before_the_failure_is_seen(self):
        errors = verify(clustered(2, before=1)).errors
        assert "none is left" not in " ".join(f.message for f in errors)

    @pytest.mark.parametrize("rank", [0, 1])
    def test_a_reader_of_one_cta_that_gives_nothing_back(self, rank):
        def forgetful(wq):
            wq.wait()
            wq.get_and_advance_work_tile()
            with cta_rank(1 - rank):
                wq.release()

        assert {"WD301", "WD201"} & codes(clustered(load_reads=forgetful))

    def test_reading_without_waiting(self):
        def hasty(wq):
            wq.get_and_advance_work_tile()
            wq.release()

        assert "WD705" in codes(clustered(load_reads=hasty))

    def test_reading_after_the_release(self):
        def late(wq):
            wq.wait()
            wq.release()
            wq.get_and_advance_work_tile()

        assert "WD705" in codes(clustered(load_reads=late))


class Response(MemoryResource):
    """A slot that a schedule reads by itself."""

    @producer_work
    def ask(self, stage_info): ...

    @consumer_work(returns="tile")
    def decode(self, stage_info): ...


@pytest.mark.parametrize("fences", [True, False])
def test_a_reader_of_its_own_fences_itself(fences):
    slot = Response(
        name="slot",
        pipeline_config=PipelineConfig(1, 16, pipeline_type="ClcFetchAsync"),
        smem=[SmemAllocation("slot", 16)],
    )

    def sched():
        with domain_loop(0, symbol("tiles")):
            slot.acquire()
            slot.ask()
            slot.commit()

    def use():
        with domain_loop(0, symbol("tiles")):
            slot.wait()
            slot.decode()
            if fences:
                fence_proxy_async()
            slot.release()

    document = TaskManager(
        [role("sched", 0, 1, sched, [], [slot]), role("use", 1, 1, use, [slot])],
        {slot: []},
        name="c",
        target="sm_100a",
    ).document
    assert accepted(document) if fences else codes(document) == {"WD705"}
