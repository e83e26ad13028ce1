"""D = silu(A B^T + bias) + R for Hopper: a GEMM with an epilogue.

The bias is added in registers, where each thread holds parts of columns; R comes through shared memory, by a second load
warp and a ring of its own. A member of the family in `hopper/`.
"""

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan


def build():
    """The schedule."""
    plan = Plan(tile=(128, 128, 64), cluster=(1, 1), bias=True, activation="silu", residual=True)
    return gemm(plan, "residual_gemm")


if __name__ == "__main__":
    build().print_and_verify()
