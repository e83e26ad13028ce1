"""Schedules that Task Scheduling 4.8.1 judges wrongly: it takes most of them, which are unsafe, and rejects P21 to P24,
which are safe by themselves. Each is built by its name."""

import sys

from cases_kit import Length, Sized, channel, filling, once, pair, ring, sized, traced, using
from cutlass.experimental.task_scheduling import domain_loop, work_tile_loop
from cutlass.experimental.task_scheduling.resources import WorkQueue
from parts import managed, next_tile, role, static_queue


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


def p26():
    x = channel(producers=4, consumers=4)
    return managed(
        [
            role("load", 0, 4, [], [x], traced(filling(4), x), num_registers=16),
            role("use", 4, 4, [x], [], traced(using(4), x), num_registers=128),
        ],
        {x: []},
    )


CASES = {name: f for name, f in list(globals().items()) if name[0] == "p" and name[1:].isdigit()}
CASES |= {"p02_tma": lambda: p02(ring), "p08_same": lambda: p08(True)}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        CASES[chosen]()
