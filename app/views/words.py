"""How the views put ops, loops and guards in words, as an author would write them."""

from __future__ import annotations

from collections.abc import Iterable

from warpdraft.core.document import (
    Ctas,
    Footprint,
    Guard,
    GuardKind,
    Loop,
    Node,
    Op,
    OpKind,
    Part,
    Token,
    Value,
)
from warpdraft.core.expressions import Expression

VERBS = {
    OpKind.ACQUIRE: "acquire",
    OpKind.COMMIT: "commit",
    OpKind.TRY_ACQUIRE: "try_acquire",
    OpKind.PRODUCER_TAIL: "producer_tail",
    OpKind.WAIT: "wait",
    OpKind.RELEASE: "release",
    OpKind.TRY_WAIT: "try_wait",
    OpKind.GROUP_COMMIT: "commit",
    OpKind.GROUP_WAIT: "wait",
    OpKind.GROUP_WAIT_READ: "wait_read",
    OpKind.BARRIER_SYNC: "sync",
    OpKind.BARRIER_ARRIVE: "arrive",
    OpKind.MBARRIER_INIT: "init",
    OpKind.MBARRIER_INVAL: "inval",
    OpKind.MBARRIER_ARRIVE: "arrive",
    OpKind.MBARRIER_EXPECT: "expect",
    OpKind.MBARRIER_ARRIVE_EXPECT: "arrive_expect",
    OpKind.MBARRIER_WAIT: "wait",
    OpKind.MBARRIER_TRY_WAIT: "try_wait",
    OpKind.FENCE_MBARRIER_INIT: "fence_mbarrier_init",
    OpKind.FENCE_PROXY_ASYNC: "fence_proxy_async",
    OpKind.SYNC_WARP: "sync_warp",
    OpKind.REGISTERS_DECREASE: "setmaxregister_decrease",
    OpKind.REGISTERS_INCREASE: "setmaxregister_increase",
    OpKind.WGMMA_FENCE: "wgmma_fence",
    OpKind.TCGEN05_WAIT_LD: "tcgen05_wait_ld",
    OpKind.TCGEN05_WAIT_ST: "tcgen05_wait_st",
    OpKind.TCGEN05_FENCE_BEFORE: "tcgen05_fence_before",
    OpKind.TCGEN05_FENCE_AFTER: "tcgen05_fence_after",
    OpKind.TCGEN05_COMMIT: "tcgen05_commit",
    OpKind.CP_ASYNC_ARRIVE: "cp_async_arrive",
    OpKind.CP_ASYNC_ARRIVE_NOINC: "cp_async_arrive(noinc)",
    OpKind.TMEM_ALLOC: "tmem_alloc",
    OpKind.TMEM_DEALLOC: "tmem_dealloc",
    OpKind.TMEM_RELINQUISH: "tmem_relinquish",
    OpKind.TENSORMAP_UPDATE: "tensormap_update",
    OpKind.FENCE_TENSORMAP: "fence_tensormap",
    OpKind.CLUSTER_SYNC: "cluster_sync",
    OpKind.CLUSTER_ARRIVE: "cluster_arrive",
    OpKind.CLUSTER_WAIT: "cluster_wait",
}

# The kinds of op as a reader tells them apart: who blocks, who lets go on, who does work, who orders memory.
BLOCKING = {
    OpKind.ACQUIRE,
    OpKind.PRODUCER_TAIL,
    OpKind.WAIT,
    OpKind.GROUP_WAIT,
    OpKind.GROUP_WAIT_READ,
    OpKind.BARRIER_SYNC,
    OpKind.MBARRIER_WAIT,
    OpKind.CLUSTER_SYNC,
    OpKind.CLUSTER_WAIT,
    OpKind.TCGEN05_WAIT_LD,
    OpKind.TCGEN05_WAIT_ST,
    OpKind.REGISTERS_INCREASE,
}
ORDERING = {
    OpKind.FENCE_MBARRIER_INIT,
    OpKind.FENCE_PROXY_ASYNC,
    OpKind.SYNC_WARP,
    OpKind.WGMMA_FENCE,
    OpKind.TCGEN05_FENCE_BEFORE,
    OpKind.TCGEN05_FENCE_AFTER,
    OpKind.FENCE_TENSORMAP,
}


def role(op: Op) -> str:
    """ "work", "wait" (may block), "order" (fences) or "signal" (lets others go on)."""
    if op.kind is OpKind.WORK:
        return "work"
    if op.kind in BLOCKING:
        return "wait"
    return "order" if op.kind in ORDERING else "signal"


def verb(op: Op) -> str:
    """The method that an author would call."""
    return op.work if op.kind is OpKind.WORK else VERBS.get(op.kind, op.kind.value)


def value_text(value: Token | Value) -> str:
    """An argument as written: a token by its name, a constant as in Python."""
    return value.name if isinstance(value, Token) else repr(value)


def arguments(op: Op) -> str:
    """What stands between the parentheses; a parameter that has its token's name is not repeated."""
    parts = [
        value_text(value)
        if isinstance(value, Token) and value.name == name
        else f"{name}={value_text(value)}"
        for name, value in op.args
    ]
    if op.stage is not None:
        parts.append(f"stage={op.stage}")
    if op.count is not None:
        parts.append(str(op.count))
    if op.tx is not None:
        parts.append(f"tx={op.tx}")
    if op.ctas:
        parts.append(
            f"ctas={ctas_text(op.ctas)}" if isinstance(op.ctas, str) else f"ctas=({ctas_text(op.ctas)})"
        )
    if op.footprint is not None:
        parts.append(f"touches={footprint_text(op.footprint)}")
    return ", ".join(parts)


def ctas_text(ctas: Ctas) -> str:
    """CTAs as they are typed: a word, or ranks."""
    return ctas if isinstance(ctas, str) else ", ".join(map(str, ctas))


def spans_text(spans: Iterable[tuple[int, int]]) -> str:
    """Ranges of bytes as they are typed: "0+512, 1024+512"."""
    return ", ".join(f"{offset}+{count}" for offset, count in spans)


def parts_text(parts: Iterable[Part]) -> str:
    """The parts of a stage as they are typed: "a: 0+16384, b: 16384+32768"."""
    return ", ".join(f"{part.name}: {part.offset}+{part.bytes}" for part in parts)


def pairs_text(pairs: Iterable[tuple[str, object]]) -> str:
    """Names and values as they are typed: "M=4096, dtype='fp16'"."""
    return ", ".join(
        f"{name}={value if isinstance(value, Expression) else repr(value)}" for name, value in pairs
    )


def footprint_text(footprint: Footprint) -> str:
    """Which bytes: "whole", "warp_slice", "0+512"."""
    if footprint.kind == "range":
        return spans_text([(footprint.offset, footprint.bytes)])
    if footprint.kind == "ranges":
        return f"({spans_text(footprint.ranges)})"
    sliced = f" of {spans_text([(footprint.offset, footprint.bytes)])}" if footprint.bytes else ""
    return footprint.kind + sliced


def op_text(op: Op) -> str:
    """One op on one line: ``coord = gmem_a.coords()``."""
    call = f"{op.target}.{verb(op)}" if op.target else verb(op)
    made = f"{', '.join(op.results)} = " if op.results else ""
    return f"{made}{call}({arguments(op)})"


def loop_text(loop: Loop) -> str:
    """A loop's head."""
    if loop.kind == "tile":
        skip = f", skip if {loop.skip_if}" if loop.skip_if else ""
        return f"for {loop.var} of {loop.queue or 'tiles'} ({loop.stop}{skip})"
    step = f" step {loop.step}" if loop.step != 1 else ""
    unroll = f", unroll {loop.unroll}" if loop.unroll else ""
    return f"for {loop.var} in {loop.start} .. {loop.stop}{step}{unroll}"


def guard_text(guard: Guard) -> str:
    """A guard's condition."""
    tested = f" ({guard.token})" if guard.token not in ("", guard.key) else ""
    match guard.kind:
        case GuardKind.ELECT_WARP:
            return f"only warp {guard.warp}"
        case GuardKind.CTA_RANK:
            return f"only CTA {guard.cta}"
        case GuardKind.ELECT_LANE:
            return "only one lane of each warp"
        case GuardKind.FIRST_ITER:
            return f"first {guard.loop}"
        case GuardKind.LAST_ITER:
            return f"last {guard.loop}"
        case GuardKind.EVERY:
            every = f"every {guard.loop}" if guard.period == 1 else f"every {guard.period}. {guard.loop}"
            return f"{every} from {guard.start}"
        case GuardKind.WHEN_TRUE:
            return f"when {guard.key}{tested}"
        case GuardKind.WHEN_FALSE:
            return f"when not {guard.key}{tested}"
    return "unless the tile is skipped"


def node_text(node: Node) -> str:
    """Any node on one line."""
    if isinstance(node, Op):
        return op_text(node)
    return loop_text(node) if isinstance(node, Loop) else guard_text(node)


def warps_text(first: int, number: int) -> str:
    """The warps of a task: "warp 8" or "warps 0-7"."""
    return f"warp {first}" if number == 1 else f"warps {first}-{first + number - 1}"


def bytes_text(number: int) -> str:
    """Bytes in the largest unit that keeps them short: 512 B, 48 KiB, 1.5 KiB."""
    if number < 1024:
        return f"{number} B"
    return f"{number / 1024:.1f}".rstrip("0").rstrip(".") + " KiB"


def schedule_text(nodes: tuple[Node, ...], indent: int = 0) -> list[str]:
    """A task's schedule as indented lines, for previews of edits."""
    lines: list[str] = []
    for node in nodes:
        lines.append("    " * indent + node_text(node))
        if not isinstance(node, Op):
            lines += schedule_text(node.body, indent + 1)
    return lines
