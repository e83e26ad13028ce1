"""A grid-stride loop: where it starts, stops and how far it steps is known at run time."""

from cutlass.experimental.task_scheduling import domain_loop, schedule
from parts import Coords, Out, managed, role


class Number:
    """A value that only the kernel knows."""


def build(first, count, stride):
    """The manager."""

    @schedule
    def copy_schedule(source, out):
        with domain_loop(first, count, stride):
            source.coords()
            out.store()

    source, out = Coords(name="source"), Out(name="out")
    return managed([role("copy", 0, 4, [source], [out], copy_schedule(source, out))], {out: [source]})


if __name__ == "__main__":
    build(Number(), Number(), Number())
