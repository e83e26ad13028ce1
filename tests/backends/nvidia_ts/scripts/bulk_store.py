"""A persistent kernel whose last task stores a stage from shared memory by a bulk copy, and gives the stage back. Its body
commits the copy; whether it waits for it, no object tells."""

import sys
from dataclasses import dataclass

import cutlass.cute as cute
from cutlass.experimental.task_scheduling import domain_loop, producer_work, schedule, work_tile_loop
from parts import Out, Smem, async_async, managed, next_tile, role, static_queue


@dataclass(kw_only=True)
class Stored(Out):
    """Stores by bulk copies."""

    @producer_work
    def bulk_store(self, stage_info):
        cute.arch.cp_async_bulk_commit_group()

    @producer_work
    def bulk_store_and_wait(self, stage_info):
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


def fill(queue, staging):
    queue.init_work_tile()
    with work_tile_loop(queue):
        with domain_loop(0, 4):
            staging.acquire()
            staging.fill()
            staging.commit()
        next_tile(queue)


def store(work):
    def body(queue, staging, out):
        queue.init_work_tile()
        with work_tile_loop(queue):
            with domain_loop(0, 4):
                staging.wait()
                staging.read()
                getattr(out, work)()
                staging.release()
            next_tile(queue)

    return body


@schedule
def fill_schedule(queue, staging):
    fill(queue, staging)


@schedule
def store_schedule(queue, staging, out):
    store("bulk_store")(queue, staging, out)


@schedule
def waiting_schedule(queue, staging, out):
    store("bulk_store_and_wait")(queue, staging, out)


def build(waits=""):
    """With the wait, or without."""
    queue, out = static_queue(), Stored(name="out")
    staging = Smem(name="staging", size=4096, pipeline_config=async_async(2, 4, 1))
    last = (waiting_schedule if waits else store_schedule)(queue, staging, out)
    return managed(
        [
            role("fill", 4, 4, [queue], [staging], fill_schedule(queue, staging)),
            role("store", 0, 1, [queue, staging], [out], last),
        ],
        {staging: [queue], out: [staging]},
    )


if __name__ == "__main__":
    build(*sys.argv[1:])
