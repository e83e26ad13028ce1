"""Ops, guards and loops as short calls, the way authoring writes them."""

from __future__ import annotations

from .document import Guard, GuardKind, Loop, Node, Op, OpKind, Token

CALLS = {
    OpKind.GROUP_COMMIT: "commit",
    OpKind.GROUP_WAIT: "wait",
    OpKind.GROUP_WAIT_READ: "wait_read",
    OpKind.BARRIER_SYNC: "sync",
    OpKind.BARRIER_ARRIVE: "arrive",
    OpKind.MBARRIER_INIT: "init",
    OpKind.MBARRIER_INVAL: "inval",
    OpKind.MBARRIER_ARRIVE: "arrive",
    OpKind.MBARRIER_EXPECT: "expect_tx",
    OpKind.MBARRIER_ARRIVE_EXPECT: "arrive_expect_tx",
    OpKind.CP_ASYNC_ARRIVE: "cp_async_arrive",
    OpKind.CP_ASYNC_ARRIVE_NOINC: "cp_async_arrive",
    OpKind.MBARRIER_WAIT: "wait",
    OpKind.MBARRIER_TRY_WAIT: "try_wait",
}
FREE = (  # functions that may name a resource
    OpKind.TMEM_ALLOC,
    OpKind.TMEM_DEALLOC,
    OpKind.TMEM_RELINQUISH,
    OpKind.TENSORMAP_UPDATE,
    OpKind.FENCE_TENSORMAP,
)
COUNTED = (
    OpKind.GROUP_WAIT,
    OpKind.GROUP_WAIT_READ,
    OpKind.MBARRIER_EXPECT,
    OpKind.MBARRIER_ARRIVE_EXPECT,
    OpKind.REGISTERS_DECREASE,
    OpKind.REGISTERS_INCREASE,
)


def phrase(node: Node) -> str:
    """ "smem_ab.acquire()", "acc.mma(tiles=tiles)", "k.every(1, start=1)", "domain_loop(0, k_tiles)"."""
    if isinstance(node, Op):
        return _op(node)
    return _loop(node) if isinstance(node, Loop) else _guard(node)


def _op(op: Op) -> str:
    if op.kind is OpKind.WORK:
        shown = [f"{name}={_value(value)}" for name, value in op.args]
        if op.stage is not None:
            shown.append(f"stage={op.stage}")
        if op.ctas:
            shown.append(f"cta={_ctas(op.ctas)}")
        return f"{op.target}.{op.work}({', '.join(shown)})"
    if op.kind in FREE:
        given = [op.target] if op.target else []
        given += [] if op.count is None else [f"columns={op.count}"]
        return (
            f"{op.kind.value}({', '.join([*given, *(f'{key}={_value(value)}' for key, value in op.args)])})"
        )
    if op.kind is OpKind.TCGEN05_COMMIT:
        stage = "" if op.stage is None else f", stage={op.stage}"
        return f"tcgen05_commit({op.target}{stage}{f', cta={_ctas(op.ctas)}' if op.ctas else ''})"
    name = CALLS.get(op.kind, op.kind.value)
    counted = op.count is not None and (
        op.kind in COUNTED or op.count != 1 or op.kind in (OpKind.MBARRIER_WAIT, OpKind.MBARRIER_TRY_WAIT)
    )
    inside = [str(op.count)] if counted else []
    inside += ["noinc=True"] if op.kind is OpKind.CP_ASYNC_ARRIVE_NOINC else []
    if op.stage is not None:
        inside.append(f"stage={op.stage}")
    if op.ctas:
        inside.append(f"cta={_ctas(op.ctas)}")
    call = f"{name}({', '.join(inside)})"
    return f"{op.target}.{call}" if op.target else call


def _ctas(ctas) -> str:
    return ctas if isinstance(ctas, str) else ", ".join(map(str, ctas))


def _value(value) -> str:
    return value.name if isinstance(value, Token) else repr(value)


def _loop(loop: Loop) -> str:
    if loop.kind == "tile":
        skip = f", skip_if={loop.skip_if}" if loop.skip_if else ""
        return f"work_tile_loop({loop.queue}{skip}, {loop.stop} tiles) as {loop.var}"
    step = "" if loop.step == 1 else f", {loop.step}"
    return f"domain_loop({loop.start}, {loop.stop}{step}) as {loop.var}"


def _guard(guard: Guard) -> str:
    match guard.kind:
        case GuardKind.ELECT_WARP:
            return f"elect_warp({guard.warp})"
        case GuardKind.CTA_RANK:
            return f"cta_rank({guard.cta})"
        case GuardKind.ELECT_LANE:
            return "elect_lane()"
        case GuardKind.EVERY:
            return f"{guard.loop or 'loop'}.every({guard.period}, start={guard.start})"
        case GuardKind.WHEN_TRUE | GuardKind.WHEN_FALSE:
            return f"{guard.kind.value}({guard.key})"
    return f"{guard.loop or 'loop'}.{guard.kind.value}()"
