"""C = A B^T for Hopper: a family of persistent, warp-specialised GEMMs, built by one function.

A warp copies tiles of A and B into a ring; warpgroups multiply them with wgmma and store C through shared memory. They
share a tile of C (cooperative), or each has one of its own: one above the other, with B in common (apart), or in turn:
while one multiplies, the other stores (ping-pong). CTAs of a cluster share operands: each copies a part of the shared
tile to all.
"""

from functools import reduce
from operator import mul

from warpdraft.assets.examples.hopper import resources
from warpdraft.assets.examples.hopper.plan import Plan
from warpdraft.assets.examples.hopper.schedules import (
    Alone,
    Epilogue,
    OneSum,
    Promoted,
    Turns,
    load,
    load_in_turn,
    load_residual,
    math,
    tiles,
)
from warpdraft.core import (
    AsyncGroup,
    GmemTensor,
    Kernel,
    MemoryResource,
    NamedBarrier,
    Task,
    TaskManager,
    WorkQueue,
    ceil_div,
    symbol,
)


def order(plan: Plan, operand: int):
    """The dimensions of A (0) or B (1) from slowest to fastest."""
    *batch, rows, columns = range(len(plan.batch) + 2)
    return (*batch, rows, columns) if plan.orders[operand] == "k" else (*batch, columns, rows)


def reference(plan: Plan):
    """The stock reference: A B^T, or with what comes behind it."""
    if not (plan.bias or plan.activation or plan.residual):
        return "gemm"
    return "linear_residual" if plan.residual else "linear"


def kernel(plan: Plan):
    """What is computed, and for which sizes it is run by default."""
    M, N, K = symbol("M"), symbol("N"), symbol("K")
    batch = (symbol("L"),) if plan.batched else ()
    (m, n, k), (down, across) = plan.tile, plan.cluster
    m *= plan.parts
    counts = *batch, plan.splits, ceil_div(M, m * down), ceil_div(N, n * across), down * across
    ctas = reduce(mul, (count for count in counts if count != 1))
    out = "out_dtype" if plan.out else "dtype"
    parameters = {"dtype": plan.dtype, "tile": (m, n, k)}
    parameters |= {"out_dtype": plan.out} if plan.out else {}
    parameters |= {"activation": plan.activation} if plan.activation else {}
    return Kernel(
        "gemm",
        tensors=[
            GmemTensor("a", (*batch, M, K), "dtype", order(plan, 0)),
            GmemTensor("b", (*batch, N, K), "dtype", order(plan, 1)),
            *([GmemTensor("bias", (N,), out)] if plan.bias else []),
            *([GmemTensor("residual", (*batch, M, N), out)] if plan.residual else []),
            GmemTensor("c", (*batch, M, N), out, role="out"),
        ],
        parameters=parameters,
        symbols={"k_tiles": ceil_div(K, k * plan.splits), "tiles": ceil_div(ctas, symbol("grid"))},
        grid=ctas,
        reference=reference(plan),
        sizes={"M": 4096, "N": 4096, "K": 4096} | ({"L": 4} if batch else {}),
        small_sizes={"M": 2 * m, "N": 2 * n, "K": 5 * k} | ({"L": 2} if batch else {}),
    )


def gemm(plan: Plan, name: str, own: MemoryResource | None = None):
    """The schedule of ``plan``. ``own``: a resource whose work ``apply(fragment)`` is used as activation."""
    queue = WorkQueue(name="queue", tiles=tiles, band=plan.band)
    gmem_c, turn = resources.output(plan), resources.turn() if plan.ping_pong else None
    bias = resources.bias(plan) if plan.bias else None
    activation = own or (resources.activation(plan) if plan.activation else None)
    values = [r for r in (bias, activation) if r]
    few, many = plan.registers
    graph = {gmem_c: [queue]} | ({turn: [queue]} if turn else {})
    loads, maths = [], []

    def loader(name, coords, ring, body):
        return Task(
            name=name,
            src_resources=[*coords, queue],
            dst_resources=[ring],
            warp_idx=len(loads),
            num_warps=1,
            num_registers=few,
            schedule=body,
        )

    places = [resources.coordinates(plan, i) for i in range(plan.parts)]
    smem_ab = resources.ring(plan, "smem_ab")
    body = (load_in_turn if plan.ping_pong else load)(queue, places, smem_ab)
    loads.append(loader("load", places, smem_ab, body))
    graph[smem_ab] = [*places, queue]
    for i, coords in enumerate(places):
        number = str(i) if plan.parts > 1 else ""
        acc = resources.accumulator(plan, f"acc{number}", plan.a[i % len(plan.a)])
        total = resources.total(f"total{number}") if plan.promote else acc
        sums = Promoted(acc, total, plan.promote) if plan.promote else OneSum(acc)
        smem_c = resources.staging(plan, f"smem_c{number}")
        smem_r = resources.residual(plan, f"smem_r{number}") if plan.residual else None
        if smem_r:
            body = load_residual(queue, coords, smem_r, plan.subtiles)
            loads.append(loader(f"load_residual{number}", [coords], smem_r, body))
            graph[smem_r] = [coords, queue]
        groups = AsyncGroup("wgmma", f"mma_group{number}"), AsyncGroup("bulk_store", f"store_group{number}")
        barrier = NamedBarrier(1 + i, 32 * plan.warps, f"epilogue{number}")  # barrier 0 is the whole CTA's
        made = acc, sums, smem_c, gmem_c, *groups, barrier, Turns(turn, i == 0) if turn else Alone()
        epilogue = Epilogue(bias, activation, smem_r)
        filled = list(dict.fromkeys((acc, total)))
        read = [coords, queue, smem_ab, *filled, smem_c, *values, *([smem_r] if smem_r else [])]
        maths.append(
            Task(
                name=f"math{number}",
                src_resources=[*read, turn] if turn and i else read,
                dst_resources=[*filled, smem_c, gmem_c, *([turn] if turn and not i else [])],
                warp_idx=4 + plan.warps * i,
                num_warps=plan.warps,
                num_registers=many,
                schedule=math(queue, coords, smem_ab, *made, epilogue, plan.subtiles),
            )
        )
        graph[acc] = [smem_ab]
        if plan.promote:
            graph[total] = [acc]
        graph[smem_c] = [total, *values, *([smem_r] if smem_r else [])]
        graph[gmem_c] += [smem_c, coords]
    return TaskManager(
        tasks=[*loads, *maths],
        resource_dependency_graph=graph,  # downstream: [upstream, ...]
        cluster=(*plan.cluster, 1),
        kernel=kernel(plan),
        name=name,
    )
