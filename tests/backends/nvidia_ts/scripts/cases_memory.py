"""More schedules that Task Scheduling 4.8.1 judges wrongly, with overlapping memory. Each is built by its name."""

import sys

from cases_kit import Length, Sized, aliased, filling, once, ring, sized, traced
from cutlass.experimental.task_scheduling import domain_loop, when_false, when_true
from cutlass.experimental.task_scheduling.memory import SmemAllocator
from cutlass.experimental.task_scheduling.resources import PipelineConfig
from parts import Out, Smem, State, group, managed, role, tma_umma
from parts import Tmem as Accumulator


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

if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        CASES[chosen]()
