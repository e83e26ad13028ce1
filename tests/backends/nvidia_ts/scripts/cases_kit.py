"""What the scripts of the cases are built from."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from cutlass.experimental.task_scheduling.memory import SmemAllocator
from cutlass.experimental.task_scheduling.task import Task
from parts import Smem, async_async, managed, role, tma_async


class Sized(Task):
    """As many iterations as only a running kernel knows."""

    length = None

    def get_domain(self, tile_coord):
        return self.length


def sized(length, name, first, count, sources, sinks, traced):
    task = Sized(sources, sinks, first, count, schedule=traced, name=name)
    task.length = length
    return task


class Length:
    """A number that is known only at run time."""


def traced(body, *resources):
    """A schedule of ``body`` on ``resources``."""
    names = [f"r{i}" for i in range(len(resources))]
    space = {"body": body}
    exec(f"def traced({', '.join(names)}):\n    body({', '.join(names)})", space)
    return schedule(space["traced"])(*resources)


def once(*resources):
    """A domain loop that does nothing: a schedule needs one."""
    with domain_loop(0, 0):
        pass


def channel(stages=2, name="x", producers=1, consumers=1, **more):
    return Smem(name=name, size=1024, pipeline_config=async_async(stages, producers, consumers, **more))


def ring(stages=2, name="x", consumers=1, **more):
    return Smem(name=name, size=1024, pipeline_config=tma_async(stages, consumers, nbytes=1024, **more))


def filling(trips):
    def body(x):
        with domain_loop(0, trips):
            x.acquire()
            x.fill()
            x.commit()

    return body


def using(trips):
    def body(x):
        with domain_loop(0, trips):
            x.wait()
            x.read()
            x.release()

    return body


def aliased(*groups):
    """All of them at one place."""
    smem = SmemAllocator()
    smem.add_alias_group([[r.allocation] for r in groups])
    smem.compute_layout()
    return smem


def pair(x, write, read, first=4):
    return managed([role("load", 0, 1, [], [x], write), role("use", first, 1, [x], [], read)], {x: []})
