"""C = A B^T for Hopper with operands of 8 bits (e4m3): a k tile is 128 deep, C is fp16.

Of such operands wgmma keeps fewer bits of a sum than fp32 has: what two k tiles come to is added up in fp32 outside of
it, so that sums of any length are right. A member of the family in `hopper/`.
"""

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import PROMOTE, Plan


def build():
    """The schedule."""
    return gemm(Plan(tile=(64, 128, 128), apart=True, dtype="e4m3", out="fp16", promote=PROMOTE), "fp8_gemm")


if __name__ == "__main__":
    build().print_and_verify()
