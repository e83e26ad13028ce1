"""What each step costs, in SM cycles and bytes per SM cycle: the one table of the predicted timeline.

Sources of `SM90_COSTS`:

[P] Measured on one H200: a persistent GEMM (128 x 256 x 64 tiles, 4 stages, one CTA a cluster, fp16, all-zero data,
    2048 x 2048 x 2048), %clock before and after every op, 5 % to 50 % quantiles over 132 CTAs, less 8 cycles for the
    stamp itself (the shortest pair of stamps around an op that has nothing to do).
[W] NVIDIA H100 whitepaper: 4 tensor cores an SM, each 512 dense fp16 FMA a cycle, so 4096 flop a cycle and SM. A k-step of
    the tile above then takes 2 * 128 * 256 * 64 / 4096 = 1024 cycles; [P] finds 1039 from one step to the next.
[F] Fitted to whole launches: `benchmarks/prediction.py` names them, and holds the table against others.
[A] Assumed, no measurement of ours: replace it when there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..document import Document


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost table of one target; every value names its source where the table is filled in.

    Issue costs are the cycles that a warp spends on an op which does not block it. Latencies are counted from there.
    """

    launch: (
        int  # from a CTA's start to its first op: its warps set up shared memory, mbarriers and descriptors
    )
    # mbarriers and named barriers
    wait_ready: int  # a wait on a phase that is already complete
    wake: int  # from the completion of a phase to the waiter's next op
    arrive: int  # issue of an arrive, or of arrive.expect_tx
    arrive_latency: int  # from the issue of an arrive to its effect on the barrier
    sync: int  # named barrier: from the last warp's arrival to the next op
    fence: int  # fence.proxy.async
    # bulk tensor copies
    tma_issue: int
    tma_latency: (
        int  # from the first byte requested to the bytes' completion on the mbarrier, on top of the transfer
    )
    tma_bytes_per_cycle: int  # one engine an SM; copies are transferred one after another
    store_issue: int
    store_bytes_per_cycle: int
    store_read_latency: int  # until the source has been read, on top of the transfer
    store_latency: int  # until the data is written, on top of the transfer
    # tensor cores
    mma_issue: int  # all instructions of one k-step
    mma_ahead: int  # how long before its product starts the issue of a queued k-step returns
    mma_latency: int  # from the last product to the visible accumulator
    tensor_flop_per_cycle: int  # dense, 16-bit operands, the whole SM
    group: int  # commit of a group, or a group wait that has nothing to wait for
    # other copies and works
    cp_async_latency: int
    cp_async_bytes_per_cycle: int
    work: int  # a work of the warp, on top of its bytes
    work_bytes_per_cycle: int  # shared memory bytes of one warp's own loads and stores


SM90_COSTS = Costs(
    launch=700,  # [P] the loader's first wait begins after 730
    wait_ready=86,  # [P] shortest wait on full or empty: 94
    wake=50,  # [P] last release to the end of the loader's wait: 92, less arrive_latency
    arrive=12,  # [P] arrive 16, arrive.expect_tx 20 to 29
    arrive_latency=30,  # [P] as `wake`; how the sum splits is not known
    sync=28,  # [P] bar.sync by the last warp: 35
    fence=40,  # [P] 26 with nothing to drain, 60 to 77 after stores
    tma_issue=22,  # [P] 20 to 32
    tma_latency=670,  # [P] first full stage 1485 cycles after its first copy's issue, less transfer and wake
    tma_bytes_per_cycle=64,  # [P] stages 2 to 4 follow each other in 600 to 1000 cycles for 48 KiB (49 to 82 bytes)
    store_issue=26,  # [P] 33, with the group's commit
    store_bytes_per_cycle=64,  # [P] wait for two stores of 8 KiB to be read: 367 to 407
    store_read_latency=150,  # [P] the same, less the transfer
    store_latency=670,  # [A] as a load's
    mma_issue=50,  # [P] four m64n256k16 with an idle pipe: 58
    mma_ahead=256,  # [P] issue blocks for 640 of 1039 cycles in the steady state, wait_group(0) then takes 745
    mma_latency=50,  # [F] k-steps that wait for their own product at once: 64 x 64 x 64 in 326 cycles, 64 x 128 in 463
    tensor_flop_per_cycle=4096,  # [W]
    group=4,  # [P] wait_group with nothing to wait for: 8 to 10, stamp included
    cp_async_latency=670,  # [A] as a bulk load's
    cp_async_bytes_per_cycle=64,  # [A] the same path from L2
    work=16,  # [P] 32 for 2 KiB by stmatrix, less the transfer
    work_bytes_per_cycle=128,  # 32 banks of 4 bytes (CUDA programming guide, shared memory)
)

# tcgen05 on sm_100: the rate is that of cta_group::1 with m = 128 in NVIDIA's Blackwell tuning notes, twice that of an sm_90
# SM [A], and each CTA of a pair has it. Bulk copies: NVIDIA's kernels of one CTA with tiles of 128 x 256 keep the tensor
# core busy, for which 48 KiB must come in 512 cycles, 96 bytes a cycle; taken is the width of shared memory, 32 banks of 4
# bytes [A]. A request for a tile takes as long as a bulk copy's latency [A]. A product is seen through a commit's arrival on
# an mbarrier, later than by a warp that waits for its own wgmma [A]. All else is taken from sm_90 until it has been measured
# [A]: nothing here has been, on a GPU of this kind.
SM100_COSTS = Costs(
    **{
        **{name: getattr(SM90_COSTS, name) for name in Costs.__slots__},
        "tensor_flop_per_cycle": 8192,
        "tma_bytes_per_cycle": 128,
        "mma_latency": 216,
    }
)


def costs_of(document: Document) -> Costs:
    """The table of the document's target."""
    return SM100_COSTS if document.target.startswith("sm_100") else SM90_COSTS
