"""Tiles that a method leaves out which the queue's class comes by, and a second one by a method of its own."""

import cutlass
from cutlass.experimental.task_scheduling import domain_loop, schedule, work_tile_loop
from cutlass.experimental.task_scheduling.resources import WorkQueue
from parts import Coords, Out, managed, next_tile, role, static_queue


class Bounded(WorkQueue):
    """Knows which tiles are outside."""

    def outside(self, work_tile):
        return cutlass.Boolean(False)


class Chosen(Bounded):
    """Knows which are empty, too."""

    def empty(self, work_tile):
        return cutlass.Boolean(False)


def build(predicate):
    """The manager."""

    @schedule
    def copy_schedule(queue, source, out):
        with work_tile_loop(queue, skip_if=predicate) as tiles:
            with tiles.skippable():
                with domain_loop(0, 2):
                    source.coords()
                    out.store()
            next_tile(queue)

    queue, source, out = static_queue(cls=Chosen), Coords(name="source"), Out(name="out")
    made = copy_schedule(queue, source, out)
    return managed([role("copy", 0, 4, [queue, source], [out], made)], {out: [source, queue]})


if __name__ == "__main__":
    build(Chosen.outside)
    build(Chosen.empty)
