"""Rings between threads: all threads signal, or cp.async copies do; producer cursors that are split."""

import cutlass.pipeline as pipeline
from cutlass.experimental.task_scheduling import domain_loop, schedule
from parts import Out, Smem, async_async, managed, role


@schedule
def fill_schedule(plain, copied):
    with domain_loop(4):
        for ring in (plain, copied):
            ring.acquire()
            ring.fill()
            ring.commit()


@schedule
def use_schedule(plain, copied, out):
    with domain_loop(4):
        for ring in (plain, copied):
            ring.wait()
            ring.read()
            ring.release()
        out.store()


def build():
    """The manager."""
    plain = Smem(name="plain", pipeline_config=async_async(2, 2, 4, advance_on_acquire=True))
    copied = Smem(
        name="copied", pipeline_config=async_async(3, 2, 4, producer_op=pipeline.PipelineOp.AsyncLoad)
    )
    out = Out(name="out")
    rings = [plain, copied]
    return managed(
        [
            role("fill", 0, 2, [], rings, fill_schedule(*rings)),
            role("use", 4, 4, rings, [out], use_schedule(*rings, out)),
        ],
        {out: rings, plain: [], copied: []},
    )


if __name__ == "__main__":
    build()
