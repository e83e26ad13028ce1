"""Schedules that Task Scheduling 4.8.1 judges wrongly: it takes most of them, which are unsafe, and rejects P21 to P24,
which are safe by themselves. Each is built by its name."""

import sys

from cutlass.experimental.task_scheduling import domain_loop, schedule, when_false, when_true, work_tile_loop
from cutlass.experimental.task_scheduling.memory import SmemAllocator
from cutlass.experimental.task_scheduling.resources import WorkQueue
from cutlass.experimental.task_scheduling.task import Task
from parts import (
    Out,
    Smem,
    State,
    async_async,
    managed,
    next_tile,
    role,
    static_queue,
    tma_async,
    tma_umma,
)
from parts import Tmem as Accumulator


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


def p01():
    scratch, out = Smem(name="scratch", size=1024), Out(name="out")

    def write(s):
        once()
        s.fill()

    def read(s, o):
        once()
        s.read()
        o.store()

    return managed(
        [
            role("writer", 0, 1, [], [scratch], traced(write, scratch)),
            role("reader", 4, 1, [scratch], [out], traced(read, scratch, out)),
        ],
        {scratch: [], out: [scratch]},
    )


def p02(make=channel):
    x = make()

    def write(x):
        with domain_loop(0, 4):
            x.acquire()
            x.acquire()
            x.fill()
            x.fill()
            x.commit()
            x.commit()

    return pair(x, traced(write, x), traced(using(8), x))


def p03():
    x = channel()

    def read(x):
        with domain_loop(0, 4):
            x.wait()
            x.wait()
            x.read()
            x.read()
            x.release()
            x.release()

    return pair(x, traced(filling(8), x), traced(read, x))


def p04():
    x = ring(4)

    def read(x):
        with domain_loop(0, 8) as k:
            with k.first_iter():
                x.try_wait()
            x.wait()
            x.read()
            x.release()

    return pair(x, traced(filling(8), x), traced(read, x))


def pair(x, write, read, first=4):
    return managed([role("load", 0, 1, [], [x], write), role("use", first, 1, [x], [], read)], {x: []})


def p06():
    x, n = ring(1, advance_on_wait=True), Length()

    def read(x):
        with domain_loop(0, Sized.get_domain) as k:
            x.wait()
            x.read()
            with k.last_iter():
                x.release()

    def write(x):
        with domain_loop(0, Sized.get_domain):
            x.acquire()
            x.fill()
            x.commit()

    return managed(
        [
            sized(n, "load", 0, 1, [], [x], traced(write, x)),
            sized(n, "use", 4, 1, [x], [], traced(read, x)),
        ],
        {x: []},
    )


def p07():
    x, acc, n = ring(), channel(1, "acc"), Length()

    def load(x):
        with domain_loop(0, Sized.get_domain):
            x.acquire()
            x.fill()
            x.commit()

    def mma(x, acc):
        acc.acquire()
        with domain_loop(0, Sized.get_domain) as k:
            x.wait()
            x.read()
            acc.fill()
            x.release()
            with k.last_iter():
                acc.commit()

    def epilogue(acc):
        once()
        acc.wait()
        acc.read()
        acc.release()

    return managed(
        [
            sized(n, "load", 0, 1, [], [x], traced(load, x)),
            sized(n, "mma", 4, 1, [x], [acc], traced(mma, x, acc)),
            role("epilogue", 8, 1, [acc], [], traced(epilogue, acc)),
        ],
        {x: [], acc: [x]},
    )


def p08(same=False):
    x, n = ring(), Length()

    def load(x):
        with domain_loop(0, Sized.get_domain):
            x.acquire()
            x.fill()
            x.commit()

    def use(x):
        with domain_loop(0, Sized.get_domain):
            x.wait()
            x.read()
            x.release()

    return managed(
        [
            sized(n, "load", 0, 1, [], [x], traced(load, x)),
            sized(n if same else Length(), "use", 4, 1, [x], [], traced(use, x)),
        ],
        {x: []},
    )


def p09():
    x, y = ring(1, "x"), ring(1, "y")

    def load(x, y):
        with domain_loop(0, 4):
            with when_true(None, key="even"):
                x.acquire()
                x.fill()
                x.commit()
            with when_false(None, key="even"):
                y.acquire()
                y.fill()
                y.commit()

    def use(x, y):
        with domain_loop(0, 4):
            with when_true(None, key="even"):
                x.wait()
                x.read()
                x.release()
            with when_false(None, key="even"):
                y.wait()
                y.read()
                y.release()

    return managed(
        [
            role("load", 0, 1, [], [x, y], traced(load, x, y)),
            role("use", 4, 1, [x, y], [], traced(use, x, y)),
        ],
        {x: [], y: []},
        smem_allocator=aliased(x, y),
    )


def p11():
    x = ring(consumers=2)
    return managed(
        [
            role("load", 0, 1, [], [x], traced(filling(4), x)),
            role("long", 4, 1, [x], [], traced(using(6), x)),
            role("short", 8, 1, [x], [], traced(using(2), x)),
        ],
        {x: []},
    )


def p14():
    rings, acc = (
        [Smem(name=n, size=1024, pipeline_config=tma_umma(3, nbytes=1024)) for n in "abcd"],
        Accumulator(name="acc"),
    )
    scratch = Smem(name="scratch", size=1024)

    def mma(a, b, c, d, acc):
        with domain_loop(0, 8):
            for r in (a, b, c, d):
                r.wait()
                r.read()
            acc.accumulate()
            for r in (a, b, c, d):
                r.release()

    def tail(s):
        once()
        s.scribble()

    smem = SmemAllocator()
    for r in rings[:3]:
        smem.add_resource(r)
    smem.add_alias_group([[rings[3].allocation], [scratch.allocation]])
    smem.compute_layout()
    scratch.allocation.offset = rings[3].allocation.offset + 2048
    scratch.physical_ranges = lambda: [("smem", scratch.allocation.offset, scratch.allocation.offset + 1024)]
    loads = [role(f"load_{r.name}", i, 1, [], [r], traced(filling(8), r)) for i, r in enumerate(rings)]
    return managed(
        [
            *loads,
            role("mma", 4, 1, rings, [acc], traced(mma, *rings, acc)),
            role("tail", 8, 1, [], [scratch], traced(tail, scratch)),
        ],
        {acc: rings, scratch: []},
        smem_allocator=smem,
    )


class Skipping(WorkQueue):
    """Two predicates."""

    def skip_a(self, work_tile): ...

    def skip_b(self, work_tile): ...


def p15():
    queue, x = static_queue(cls=Skipping), ring()

    def load(queue, x):
        queue.init_work_tile()
        with work_tile_loop(queue, skip_if=Skipping.skip_a) as tiles:
            with tiles.skippable(), domain_loop(0, 2):
                x.acquire()
                x.fill()
                x.commit()
            next_tile(queue)

    def use(queue, x):
        queue.init_work_tile()
        with work_tile_loop(queue, skip_if=Skipping.skip_b) as tiles:
            with tiles.skippable(), domain_loop(0, 2):
                x.wait()
                x.read()
                x.release()
            next_tile(queue)

    return managed(
        [
            role("load", 0, 1, [queue], [x], traced(load, queue, x)),
            role("use", 4, 1, [queue, x], [], traced(use, queue, x)),
        ],
        {x: [queue]},
    )


def p17():
    scratch = Smem(name="scratch", size=1024)

    def body(s, t):
        once()
        s.fill()
        t.decide()
        s.read()

    state = State(name="state")
    return managed(
        [role("warps", 0, 4, [scratch, state], [scratch], traced(body, scratch, state))],
        {scratch: [state]},
    )


def p18():
    from cutlass.experimental.task_scheduling.resources import PipelineConfig
    from parts import group

    config = PipelineConfig.create_async_umma_pipeline_cfg(2, group(128), group(1), None)
    x, acc = Smem(name="x", size=1024, pipeline_config=config), Accumulator(name="acc")

    def write(x):
        with domain_loop(0, 4):
            x.acquire()
            x.scribble()
            x.commit()

    def mma(x, acc):
        with domain_loop(0, 4):
            x.wait()
            desc = x.describe()
            acc.mma(desc=desc)
            x.release()

    return managed(
        [
            role("write", 0, 4, [], [x], traced(write, x)),
            role("mma", 4, 1, [x], [acc], traced(mma, x, acc)),
        ],
        {x: [], acc: [x]},
    )


def p19():
    x = channel()
    return pair(x, traced(filling(8), x), traced(using(8), x), first=0)


def p21():
    x = channel()

    def read(x):
        with domain_loop(0, 4) as k:
            x.wait()
            x.read()
            for start in range(3):
                with k.every(4, start=start):
                    x.release()

    return pair(x, traced(filling(4), x), traced(read, x))


def p22():
    a, b = Smem(name="a", size=1024), Smem(name="b", size=1024)
    outs = [Out(name=f"out_{n}") for n in "ab"]

    def read(x, out):
        once()
        x.read()
        out.store()

    return managed(
        [
            role("one", 0, 1, [a], [outs[0]], traced(read, a, outs[0])),
            role("two", 4, 1, [b], [outs[1]], traced(read, b, outs[1])),
        ],
        {outs[0]: [a], outs[1]: [b]},
        smem_allocator=aliased(a, b),
    )


def p23():
    x = Smem(name="x", size=1024, pipeline_config=tma_umma(1, nbytes=1024))
    acc, over = Accumulator(name="acc"), Smem(name="over", size=1024)

    def mma(x, acc, over):
        once()
        x.wait()
        desc = x.describe()
        acc.mma(desc=desc)
        over.scribble()
        x.release()

    def load(x):
        once()
        x.acquire()
        x.fill()
        x.commit()

    return managed(
        [
            role("load", 0, 1, [], [x], traced(load, x)),
            role("mma", 4, 1, [x], [acc, over], traced(mma, x, acc, over)),
        ],
        {x: [], acc: [x], over: [x]},
        smem_allocator=aliased(x, over),
    )


def p24():
    x, y = Smem(name="x", size=1024), Smem(name="y", size=1024)

    def first(x):
        once()
        x.scribble()
        x.read()

    def second(y):
        once()
        y.scribble()
        y.read()

    return managed(
        [
            role("first", 0, 1, [x], [x], traced(first, x)),
            role("second", 4, 1, [y], [y], traced(second, y)),
        ],
        {x: [], y: []},
        smem_allocator=aliased(x, y),
    )


def p26():
    x = channel(producers=4, consumers=4)
    return managed(
        [
            role("load", 0, 4, [], [x], traced(filling(4), x), num_registers=16),
            role("use", 4, 4, [x], [], traced(using(4), x), num_registers=128),
        ],
        {x: []},
    )


def p28():
    x, y, n = Smem(name="x", size=1024), Smem(name="y", size=1024), Length()
    out = Out(name="out")

    def body(x, y, out):
        with domain_loop(1, Sized.get_domain):
            x.scribble()
            x.read()
            out.store()
            y.scribble()
            y.read()

    return managed(
        [sized(n, "store", 0, 1, [x, y], [x, y, out], traced(body, x, y, out))],
        {x: [], y: [], out: [x, y]},
        smem_allocator=aliased(x, y),
    )


CASES = {name: f for name, f in list(globals().items()) if name[0] == "p" and name[1:].isdigit()}
CASES |= {"p02_tma": lambda: p02(ring), "p08_same": lambda: p08(True)}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        CASES[chosen]()
