"""Members of the family of Hopper GEMMs, each the best for some shapes: `warpdraft run members.py --size ...` runs one.

Of equal predictions the first is taken.
"""

from dataclasses import replace

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import MOST_PROMOTED, PROMOTE, Plan

WIDE = Plan(tile=(64, 256, 64), apart=True)  # tiles of 128 x 256
SQUARE = Plan(tile=(64, 128, 64), apart=True)  # of 128 x 128
TALL = Plan(tile=(128, 128, 64), apart=True, subtile=32)  # of 256 x 128
IN_TURN = Plan(tile=(128, 128, 64), ping_pong=True, subtile=32)
PLANS = {
    "wide_2x1": WIDE,
    "wide_1x2": replace(WIDE, cluster=(1, 2)),
    "wide_1x2_band_4": replace(WIDE, cluster=(1, 2), band=4),
    "wide": replace(WIDE, cluster=(1, 1)),
    "tall": replace(TALL, cluster=(1, 1)),
    "square_2x1": SQUARE,
    "square": replace(SQUARE, cluster=(1, 1)),
    "in_turn": replace(IN_TURN, cluster=(1, 1)),
    "in_turn_2x1": replace(IN_TURN, band=16),
    "rows_64": Plan(tile=(64, 128, 64), cluster=(1, 1)),
    "columns_64": Plan(tile=(128, 64, 64), cluster=(1, 1)),
    "small": Plan(tile=(64, 64, 64), cluster=(1, 1)),
}


def members(dtype: str = "fp16"):
    """The schedules, by name, for operands of ``dtype``; those of e4m3 take k tiles of as many bytes, give bf16, promote
    their sums, and are those that have the registers for it."""
    plans = {n: p for n, p in PLANS.items() if dtype != "e4m3" or p.accumulator_registers <= MOST_PROMOTED}
    return {name: gemm(_of(plan, dtype), name) for name, plan in plans.items()}


def _of(plan: Plan, dtype: str) -> Plan:
    if dtype == "e4m3":
        return replace(plan, tile=(*plan.tile[:2], 128), dtype=dtype, out="bf16", promote=PROMOTE)
    return replace(plan, dtype=dtype)


family = members()
