"""C = A B^T for Hopper with operands of 8 bits (e4m3): a k tile is 128 deep, C is fp16.

A member of the family in `hopper/`.
"""

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan


def build():
    """The schedule."""
    return gemm(Plan(tile=(128, 256, 128), dtype="e4m3", out="fp16"), "fp8_gemm")


if __name__ == "__main__":
    build().print_and_verify()
