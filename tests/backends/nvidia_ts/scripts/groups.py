"""Groups of pipelines: Merge, Fork and FusedMerge, each with two members. GROUP chooses one; by default all are built."""

import sys

from cutlass.experimental.task_scheduling import domain_loop, schedule
from cutlass.experimental.task_scheduling.enums import PipelineGroupMode
from cutlass.experimental.task_scheduling.pipeline_group import PipelineGroup
from parts import Coords, Out, Smem, managed, role, tma_async


@schedule
def load_schedule(source, ring):
    with domain_loop(0, 6):
        coord = source.coords()
        ring.acquire()
        ring.load(coord=coord)
        ring.commit()


@schedule
def merge_schedule(a, b, group, out):
    with domain_loop(0, 6):
        a.wait()
        b.wait()
        a.read()
        b.read()
        group.release()
        out.store()


@schedule
def fused_schedule(a, b, group, out):
    with domain_loop(0, 6):
        group.wait()
        a.read()
        b.read()
        group.release()
        out.store()


@schedule
def fork_schedule(source, a, b, group):
    with domain_loop(0, 6):
        coord = source.coords()
        a.acquire()
        b.acquire()
        a.load(coord=coord)
        b.load(coord=coord)
        group.commit()


@schedule
def use_schedule(ring, out):
    with domain_loop(0, 6):
        ring.wait()
        ring.read()
        ring.release()
        out.store()


def build(mode):
    """A manager whose rings are grouped by ``mode``."""
    a, b = (Smem(name=name, pipeline_config=tma_async(2, 4)) for name in "ab")
    group = PipelineGroup(name="both", members=[a, b], mode=PipelineGroupMode[mode])
    source, out, other = Coords(name="source"), Out(name="out"), Out(name="other")
    if mode == "Fork":
        return managed(
            [
                role("load", 0, 1, [source], [a, b], fork_schedule(source, group.a, group.b, group)),
                role("use_a", 4, 4, [a], [out], use_schedule(group.a, out)),
                role("use_b", 8, 4, [b], [other], use_schedule(group.b, other)),
            ],
            {a: [source], b: [source], out: [a], other: [b]},
        )
    using = merge_schedule if mode == "Merge" else fused_schedule
    return managed(
        [
            role("load_a", 0, 1, [source], [a], load_schedule(source, group.a)),
            role("load_b", 1, 1, [source], [b], load_schedule(source, group.b)),
            role("use", 4, 4, [a, b], [out], using(group.a, group.b, group, out)),
        ],
        {a: [source], b: [source], out: [a, b]},
    )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or ["Merge", "Fork", "FusedMerge"]:
        build(chosen)
