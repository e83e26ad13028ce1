"""Calls of CuTe DSL that move data asynchronously or synchronise, by name, and the PTX instructions behind them.

Names are those of nvidia-cutlass-dsl 4.8.1: ``cutlass.cute.arch``, ``cutlass.cute.nvgpu``, ``cutlass.pipeline`` and
``cutlass.experimental.primitives``. What each does is that of its instruction (PTX ISA, the section of the mnemonic).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from warpdraft.core.document import Engine, OpKind


@dataclass(frozen=True, slots=True)
class Access:
    """Data moved by ``engine``; None: a copy or MMA whose atom says by which. ``stores``: threads surely
    write memory, not registers."""

    engine: Engine | None
    stores: bool = False


@dataclass(frozen=True, slots=True)
class Sync:
    """Synchronisation. ``group``: whose groups a commit or wait is about. ``count``: where the number is, a position and a
    keyword (of groups, or the id of a barrier); ``threads``: where the threads of a barrier are."""

    kind: OpKind
    group: Engine | None = None
    count: tuple[int, str] | None = None
    threads: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """Synchronisation that an annotation cannot state; ``why`` says what it is."""

    why: str


Instruction = Access | Sync | Raw

BULK, CP, WGMMA = Engine.BULK_STORE, Engine.CP_ASYNC, Engine.WGMMA
_BARRIER = ((0, "barrier_id"), (1, "number_of_threads"))
_CTA = ((0, "barrier_id"), (1, "thread_count"))
_MBARRIER = Raw("an mbarrier of the body's own")
_PIPELINE = Raw("a pipeline that the body drives itself")

CALLS: dict[str, Instruction] = {
    # cp.async, cp.async.bulk and wgmma groups
    "cp_async_commit_group": Sync(OpKind.GROUP_COMMIT, CP),
    "cp_async_wait_group": Sync(OpKind.GROUP_WAIT, CP, (0, "n")),
    "cp_async_bulk_commit_group": Sync(OpKind.GROUP_COMMIT, BULK),
    "cp_async_bulk_wait_group": Sync(OpKind.GROUP_WAIT, BULK, (0, "group")),
    "wgmma_commit_group_sync_aligned": Sync(OpKind.GROUP_COMMIT, WGMMA),
    "wgmma_wait_group_sync_aligned": Sync(OpKind.GROUP_WAIT, WGMMA, (0, "group")),
    "wgmma_fence_aligned": Sync(OpKind.WGMMA_FENCE),
    # named barriers
    "barrier": Sync(OpKind.BARRIER_SYNC, None, *_BARRIER),
    "barrier_arrive": Sync(OpKind.BARRIER_ARRIVE, None, *_BARRIER),
    "barrier_cta_sync": Sync(OpKind.BARRIER_SYNC, None, *_CTA),
    "barrier_cta_sync_aligned": Sync(OpKind.BARRIER_SYNC, None, *_CTA),
    "barrier_cta_arrive": Sync(OpKind.BARRIER_ARRIVE, None, *_CTA),
    "barrier_cta_arrive_aligned": Sync(OpKind.BARRIER_ARRIVE, None, *_CTA),
    "barrier_cta_red": Sync(OpKind.BARRIER_SYNC, None, *_CTA),
    "barrier_cta_red_aligned": Sync(OpKind.BARRIER_SYNC, None, *_CTA),
    "sync_threads": Sync(OpKind.BARRIER_SYNC),
    "sync_warp": Sync(OpKind.SYNC_WARP),
    "bar_warp_sync": Sync(OpKind.SYNC_WARP),
    "cluster_arrive": Sync(OpKind.CLUSTER_ARRIVE),
    "barrier_cluster_arrive": Sync(OpKind.CLUSTER_ARRIVE),
    "barrier_cluster_arrive_aligned": Sync(OpKind.CLUSTER_ARRIVE),
    "cluster_wait": Sync(OpKind.CLUSTER_WAIT),
    "barrier_cluster_wait": Sync(OpKind.CLUSTER_WAIT),
    "barrier_cluster_wait_aligned": Sync(OpKind.CLUSTER_WAIT),
    "cluster_arrive_relaxed": Raw("a relaxed arrival at the cluster barrier, which orders nothing"),
    "barrier_cluster_arrive_relaxed": Raw("a relaxed arrival at the cluster barrier, which orders nothing"),
    # fences and waits of one thread
    "fence_proxy": Sync(OpKind.FENCE_PROXY_ASYNC),
    "fence_view_async_shared": Sync(OpKind.FENCE_PROXY_ASYNC),
    "fence_view_async_tmem_load": Sync(OpKind.TCGEN05_WAIT_LD),
    "fence_view_async_tmem_store": Sync(OpKind.TCGEN05_WAIT_ST),
    "tcgen05_wait": Sync(OpKind.TCGEN05_WAIT_LD),
    "tcgen05_fence": Sync(OpKind.TCGEN05_FENCE_BEFORE),
    # copies and MMAs
    "copy": Access(None),
    "copy_atom_call": Access(None),
    "gemm": Access(None),
    "mma_atom_call": Access(None),
    "cp_async_shared_global": Access(CP),
    "cp_async_bulk_tensor_shared_cluster_global": Access(Engine.TMA),
    "cp_async_bulk_tensor_shared_cta_global": Access(Engine.TMA),
    "cp_async_bulk_shared_cluster_global": Access(Engine.TMA),
    "cp_async_bulk_tensor_global_shared_cta": Access(BULK),
    "cp_async_bulk_global_shared_cta": Access(BULK),
    "cp_async_bulk_tensor_reduce": Access(BULK),
    "cp_reduce_async_bulk_global_shared_cta": Access(BULK),
    "cp_async_bulk_shared_cluster_shared_cta": Raw("a bulk copy between CTAs"),
    "wgmma_mma_async": Access(WGMMA),
    "tcgen05_mma": Access(Engine.TCGEN05),
    "tcgen05_mma_block_scale": Access(Engine.TCGEN05),
    "tcgen05_mma_sp": Access(Engine.TCGEN05),
    "tcgen05_mma_sp_block_scale": Access(Engine.TCGEN05),
    "tcgen05_mma_ws": Access(Engine.TCGEN05),
    "tcgen05_mma_ws_sp": Access(Engine.TCGEN05),
    "tcgen05_cp": Access(Engine.TCGEN05_CP),
    "tcgen05_shift": Access(Engine.TCGEN05_SHIFT),
    "tcgen05_ld": Access(Engine.TCGEN05_LD),
    "tcgen05_ld_red": Access(Engine.TCGEN05_LD),
    "tcgen05_st": Access(Engine.TCGEN05_ST),
    # loads and stores of the calling threads
    **dict.fromkeys("load load_ext ldmatrix store basic_copy basic_copy_if".split(), Access(Engine.WARP)),
    **dict.fromkeys("store_ext stmatrix autovec_copy".split(), Access(Engine.WARP, stores=True)),
    # what an annotation has no words for
    "tcgen05_commit": Raw("a commit of MMAs to an mbarrier of the body's choice"),
    "cp_async_mbarrier_arrive": Raw("copies that arrive on an mbarrier of the body's choice"),
    "store_async_dsmem": Raw("an asynchronous store to another CTA"),
    "griddepcontrol": Raw("a grid dependency"),
    "tcgen05_alloc": Raw("an allocation of tensor memory"),
    "alloc_tmem": Raw("an allocation of tensor memory"),
    "tcgen05_dealloc": Raw("a deallocation of tensor memory"),
    "dealloc_tmem": Raw("a deallocation of tensor memory"),
    **{
        f"mbarrier_{end}": _MBARRIER
        for end in (
            "arrive arrive_and_expect_tx arrive_expect_tx expect_tx complete_tx wait wait_parity try_wait "
            "try_wait_parity test_wait conditional_try_wait init inval arrive_drop"
        ).split()
    },
    **{
        name: _PIPELINE
        for name in (
            "producer_acquire producer_commit consumer_wait consumer_release producer_tail producer_try_acquire "
            "consumer_try_wait"
        ).split()
    },
}

# Short names that mean an instruction only in one module.
WITHIN: dict[tuple[str, str], Instruction] = {
    ("warpgroup", "commit_group"): Sync(OpKind.GROUP_COMMIT, WGMMA),
    ("warpgroup", "wait_group"): Sync(OpKind.GROUP_WAIT, WGMMA, (0, "group")),
    ("warpgroup", "fence"): Sync(OpKind.WGMMA_FENCE),
    ("tcgen05", "commit"): CALLS["tcgen05_commit"],
    # PTX inside the DSL's operator classes
    ("NamedBarrier", "sync"): Sync(OpKind.BARRIER_SYNC),
    ("NamedBarrier", "arrive_and_wait"): Sync(OpKind.BARRIER_SYNC),
    ("NamedBarrier", "wait"): Sync(OpKind.BARRIER_SYNC),
    ("NamedBarrier", "arrive"): Sync(OpKind.BARRIER_ARRIVE),
    ("TmaStoreFence", "arrive"): Sync(OpKind.GROUP_COMMIT, BULK),
    ("TmaStoreFence", "wait"): Raw("a wait for bulk stores whose number is the fence's own"),
    ("PipelineTmaStore", "producer_commit"): Sync(OpKind.GROUP_COMMIT, BULK),
    ("PipelineTmaStore", "producer_acquire"): Raw(
        "a wait for bulk stores whose number is the pipeline's own"
    ),
    ("PipelineTmaStore", "producer_tail"): Raw("a wait for all bulk stores of a pipeline"),
}

# Operations of atoms, and functions that make tiled MMAs, with the engine that executes them.
OPERATIONS: dict[str, Engine] = {
    "CopyG2SOp": CP,
    "CopyBulkTensorTileG2SOp": Engine.TMA,
    "CopyBulkTensorTileG2SMulticastOp": Engine.TMA,
    "CopyBulkG2SOp": Engine.TMA,
    "CopyBulkG2SMulticastOp": Engine.TMA,
    "CopyBulkTensorTileS2GOp": BULK,
    "CopyReduceBulkTensorTileS2GOp": BULK,
    "CopyBulkS2GOp": BULK,
    "CopyBulkS2GByteMaskOp": BULK,
    **dict.fromkeys(
        "CopyUniversalOp CopyG2ROp CopyR2GOp CopyS2ROp CopyR2SOp MmaUniversalOp".split(), Engine.WARP
    ),
    "make_s2t_copy": Engine.TCGEN05_CP,
    "get_tmem_load_op": Engine.TCGEN05_LD,
    "get_smem_store_op": Engine.WARP,
}
_BY_MODULE = (  # (module, beginning of the operation's name, engine)
    ("tcgen05", "Ld", Engine.TCGEN05_LD),
    ("tcgen05", "TmemLoad", Engine.TCGEN05_LD),
    ("tcgen05", "St", Engine.TCGEN05_ST),
    ("tcgen05", "Cp", Engine.TCGEN05_CP),
    ("tcgen05", "Mma", Engine.TCGEN05),
    ("tcgen05", "SM107Mma", Engine.TCGEN05),
    ("warpgroup", "Mma", WGMMA),
    ("warp", "Mma", Engine.WARP),
    ("warp", "LdMatrix", Engine.WARP),
    ("warp", "StMatrix", Engine.WARP),
    ("hopper_helpers", "make_trivial_tiled_mma", WGMMA),
    ("blackwell_helpers", "make_trivial_tiled_mma", Engine.TCGEN05),
    ("blackwell_helpers", "make_blockscaled_trivial_tiled_mma", Engine.TCGEN05),
    ("rubin_helpers", "make_trivial_tiled_mma", Engine.TCGEN05),
    ("rubin_helpers", "make_blockscaled_trivial_tiled_mma", Engine.TCGEN05),
)

# Mnemonics in inline PTX, the first that fits.
_PTX: tuple[tuple[str, Instruction], ...] = (
    (r"cp\.async\.bulk\.commit_group", CALLS["cp_async_bulk_commit_group"]),
    (r"cp\.async\.bulk\.wait_group\.read\s+(\d+)", Sync(OpKind.GROUP_WAIT_READ, BULK)),
    (r"cp\.async\.bulk\.wait_group\s+(\d+)", Sync(OpKind.GROUP_WAIT, BULK)),
    (r"cp\.async\.commit_group", CALLS["cp_async_commit_group"]),
    (r"cp\.async\.wait_group\s+(\d+)", Sync(OpKind.GROUP_WAIT, CP)),
    (r"cp\.async\.wait_all", Sync(OpKind.GROUP_WAIT, CP)),
    (r"cp\.async\.mbarrier\.arrive", CALLS["cp_async_mbarrier_arrive"]),
    (r"cp(\.reduce)?\.async\.bulk(\.tensor[.\w]*?)?\.global\.shared", Access(BULK)),
    (r"cp\.reduce\.async\.bulk", Access(BULK)),
    (r"cp\.async\.bulk\.prefetch", Raw("")),
    (r"cp\.async\.bulk[.\w]*?\.shared::\w+\.shared", CALLS["cp_async_bulk_shared_cluster_shared_cta"]),
    (r"cp\.async\.bulk", Access(Engine.TMA)),
    (r"cp\.async\.c[ag]", Access(CP)),
    (r"wgmma\.mma_async", Access(WGMMA)),
    (r"wgmma\.commit_group", Sync(OpKind.GROUP_COMMIT, WGMMA)),
    (r"wgmma\.wait_group[.\w]*\s+(\d+)", Sync(OpKind.GROUP_WAIT, WGMMA)),
    (r"wgmma\.fence", Sync(OpKind.WGMMA_FENCE)),
    (r"tcgen05\.mma", Access(Engine.TCGEN05)),
    (r"tcgen05\.cp", Access(Engine.TCGEN05_CP)),
    (r"tcgen05\.shift", Access(Engine.TCGEN05_SHIFT)),
    (r"tcgen05\.ld", Access(Engine.TCGEN05_LD)),
    (r"tcgen05\.st\b", Access(Engine.TCGEN05_ST)),
    (r"tcgen05\.wait::ld", Sync(OpKind.TCGEN05_WAIT_LD)),
    (r"tcgen05\.wait::st", Sync(OpKind.TCGEN05_WAIT_ST)),
    (r"tcgen05\.fence::before", Sync(OpKind.TCGEN05_FENCE_BEFORE)),
    (r"tcgen05\.fence::after", Sync(OpKind.TCGEN05_FENCE_AFTER)),
    (r"tcgen05\.commit", CALLS["tcgen05_commit"]),
    (r"fence\.proxy\.async", Sync(OpKind.FENCE_PROXY_ASYNC)),
    (r"barrier\.cluster\.arrive(?!\.relaxed)", Sync(OpKind.CLUSTER_ARRIVE)),
    (r"barrier\.cluster\.wait", Sync(OpKind.CLUSTER_WAIT)),
    (r"bar(rier)?\.warp\.sync", Sync(OpKind.SYNC_WARP)),
    (r"bar(rier)?(\.cta)?\.(sync|red|arrive)", Raw("a named barrier in inline PTX")),
    (r"mbarrier\.", _MBARRIER),
    (r"griddepcontrol", CALLS["griddepcontrol"]),
    (r"red\.async|st\.async", Raw("an asynchronous store to another CTA")),
)
PTX = tuple((re.compile(pattern), instruction) for pattern, instruction in _PTX)
SHORT = frozenset({"copy", "gemm", "barrier"})  # names that other libraries use too
INLINE = ("inline_ptx", "inline_ptx_hl", "inline_asm")  # calls that hold PTX text


def instruction(dotted: str) -> Instruction | None:
    """What a call of ``dotted`` does; None: nothing that counts here."""
    parts = dotted.split(".")
    if len(parts) > 1 and (parts[-2], parts[-1]) in WITHIN:
        return WITHIN[parts[-2], parts[-1]]
    if parts[-1] in SHORT and parts[0] != "cutlass":
        return None
    return CALLS.get(parts[-1])


def operation(dotted: str) -> Engine | None:
    """The engine of an atom's operation, or of what a function makes; None: ``dotted`` says nothing of it."""
    parts = dotted.split(".")
    if parts[-1] in OPERATIONS:
        return OPERATIONS[parts[-1]]
    for module, beginning, engine in _BY_MODULE:
        if module in parts[:-1] and parts[-1].startswith(beginning):
            return engine
    return None


def in_ptx(text: str) -> list[tuple[Instruction, int | None]]:
    """The instructions of inline PTX, in order, each with the number that it names."""
    found: list[tuple[Instruction, int | None]] = []
    for statement in text.replace("\n", ";").split(";"):
        for pattern, known in PTX:
            if match := pattern.search(statement):
                numbers = [g for g in match.groups() if g and g.isdigit()]
                if known != Raw(""):
                    found.append((known, int(numbers[0]) if numbers else None))
                break
    return found
