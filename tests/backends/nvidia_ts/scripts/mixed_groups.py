"""Groups of pipelines whose own pipeline is no sum of equal ones: copies beside threads, and one that the script gives.
Each member is waited for by itself, and all are released together."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from cutlass.experimental.task_scheduling.enums import PipelineGroupMode, PipelineType
from cutlass.experimental.task_scheduling.pipeline_group import PipelineGroup
from cutlass.experimental.task_scheduling.resources import PipelineConfig
from parts import BYTES, Coords, Out, Smem, async_async, group, managed, role, tma_async


@schedule
def copy_schedule(source, ring):
    with domain_loop(0, 6):
        coord = source.coords()
        ring.acquire()
        ring.load(coord=coord)
        ring.commit()


@schedule
def fill_schedule(ring):
    with domain_loop(0, 6):
        ring.acquire()
        ring.fill()
        ring.commit()


@schedule
def use_schedule(a, b, both, out):
    with domain_loop(0, 6):
        a.wait()
        b.wait()
        a.read()
        b.read()
        both.release()
        out.store()


def build(own):
    """A ring that copies fill and one that threads fill; ``own``: two of copies, with a pipeline of the group's own."""
    source, out = Coords(name="source"), Out(name="out")
    a = Smem(name="a", pipeline_config=tma_async(2, 4))
    b = Smem(name="b", pipeline_config=tma_async(2, 4) if own else async_async(2, 1, 4))
    config = None
    if own:
        config = PipelineConfig(
            num_stages=2,
            num_bytes=2 * BYTES,
            producer_group=group(2),
            consumer_group=group(4),
            pipeline_type=PipelineType.TmaAsync,
            advance_on_wait=True,
        )
    both = PipelineGroup(name="both", members=[a, b], mode=PipelineGroupMode.Merge, pipeline_config=config)
    fill = copy_schedule(source, both.b) if own else fill_schedule(both.b)
    return managed(
        [
            role("copy", 0, 1, [source], [a], copy_schedule(source, both.a)),
            role("fill", 1, 1, [source] if own else [], [b], fill),
            role("use", 4, 4, [a, b], [out], use_schedule(both.a, both.b, both, out)),
        ],
        {a: [source], b: [source], out: [a, b]},
    )


if __name__ == "__main__":
    build(own=False)
    build(own=True)
