"""C = A B^T for Hopper at the speed of cuBLAS: persistent and warp-specialised, in clusters of two CTAs.

Two warpgroups work on a tile of 128 x 256, each on 64 rows, which it multiplies and stores by itself; the CTAs of a
cluster work on tiles one above the other, and each copies half of the B that they share to both. A member of the family
in `hopper/`.
"""

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan


def build():
    """The schedule."""
    return gemm(Plan(tile=(64, 256, 64), apart=True), "hopper_gemm")


if __name__ == "__main__":
    build().print_and_verify()
