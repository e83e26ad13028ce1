"""What each step costs, in SM cycles and bytes per SM cycle: the one table of the predicted timeline."""

from __future__ import annotations

from dataclasses import dataclass

from ..document import Document


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost table of one target; every value names its source where the table is filled in.

    Issue costs are the cycles that a warp spends on an op which does not block it. Latencies are counted from there.
    """

    # mbarriers and named barriers
    wait_ready: int  # a wait on a phase that is already complete
    wake: int  # from the completion of a phase to the waiter's next op
    arrive: int  # issue of an arrive, or of arrive.expect_tx
    arrive_latency: int  # from the issue of an arrive to its effect on the barrier
    sync: int  # named barrier: from the last warp's arrival to the next op
    fence: int  # fence.proxy.async
    # bulk tensor copies
    tma_issue: int
    tma_latency: int  # from the first byte requested to the bytes' completion on the mbarrier, on top of the transfer
    tma_bytes_per_cycle: int  # one engine an SM; copies are transferred one after another
    store_issue: int
    store_bytes_per_cycle: int
    store_read_latency: int  # until the source has been read, on top of the transfer
    store_latency: int  # until the data is written, on top of the transfer
    # tensor cores
    mma_issue: int  # all instructions of one k-step, and the commit of its group
    mma_latency: int  # from the last product to the visible accumulator
    tensor_flop_per_cycle: int  # dense, 16-bit operands, the whole SM
    group: int  # commit of a group, or a group wait that has nothing to wait for
    # other copies and works
    cp_async_latency: int
    cp_async_bytes_per_cycle: int
    work: int  # a work of the warp, on top of its bytes
    work_bytes_per_cycle: int  # shared memory bytes of one warp's own loads and stores


SM90_COSTS = Costs(
    wait_ready=20,
    wake=30,
    arrive=15,
    arrive_latency=20,
    sync=30,
    fence=20,
    tma_issue=30,
    tma_latency=600,
    tma_bytes_per_cycle=64,
    store_issue=30,
    store_bytes_per_cycle=64,
    store_read_latency=150,
    store_latency=600,
    mma_issue=60,
    mma_latency=30,
    tensor_flop_per_cycle=4096,
    group=10,
    cp_async_latency=500,
    cp_async_bytes_per_cycle=64,
    work=20,
    work_bytes_per_cycle=32,
)


def costs_of(document: Document) -> Costs:
    """The table of the document's target."""
    return SM90_COSTS
