"""What an author need not say, and what the checks make of values and of loops without events."""

import pytest

from warpdraft.core import (
    MBarrier,
    MemoryResource,
    PipelineConfig,
    ScheduleError,
    Task,
    TaskManager,
    consumer_work,
    domain_loop,
    producer_work,
    schedule,
    symbol,
    verify,
)
from warpdraft.core.document import Space

n = symbol("n")


class Ring(MemoryResource):
    @producer_work
    def fill(self, stage_info): ...

    @consumer_work(engine="warp", returns="scale")
    def scale(self, stage_info): ...


class Accumulator(MemoryResource):
    @producer_work(engine="wgmma")
    def mma(self, stage_info, scale): ...


@schedule
def produce(ring):
    with domain_loop(0, n):
        ring.acquire()
        ring.fill()
        ring.commit()


@schedule
def multiply(ring, acc):
    with domain_loop(0, n):
        ring.wait()
        scale = ring.scale()
        ring.release()
        acc.mma(scale=scale)


def test_a_value_of_a_released_stage_may_go_to_an_asynchronous_work():
    ring, acc = Ring(name="ring", pipeline_config=PipelineConfig(num_stages=2)), Accumulator(name="acc")
    tasks = [
        Task([], [ring], 0, 1, schedule=produce(ring), name="produce"),
        Task([ring], [acc], 4, 4, schedule=multiply(ring, acc), name="multiply"),
    ]
    document = TaskManager(tasks, {ring: [], acc: [ring]}).document
    assert next(r.space for r in document.resources if r.name == "acc") is Space.RMEM
    assert not verify(document).errors


def test_a_loop_without_events_is_no_obstacle():
    @schedule
    def nothing(ring):
        with domain_loop(n):
            pass

    ring = Ring(name="ring", pipeline_config=PipelineConfig(num_stages=2))
    task = Task([], [ring], 0, 1, schedule=nothing(ring), name="nothing")
    assert not verify(TaskManager([task], {ring: []}).document).errors


def test_an_mbarrier_needs_no_name_and_takes_no_number_for_one():
    assert MBarrier(count=1).count == 1
    with pytest.raises(ScheduleError, match=r"write MBarrier\(count=1\)"):
        MBarrier(1)
