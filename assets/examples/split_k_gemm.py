"""C = A B^T for Hopper with few tiles and a long K: the sums are cut into four parts, each a work tile of its own.

A part is added to C, in fp32, by the copy engine, so C must be zero at the start; the exported module sees to it. A member
of the family in `hopper/`.
"""

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan


def build():
    """The schedule."""
    return gemm(Plan(tile=(128, 128, 64), out="fp32", subtile=32, splits=4), "split_k_gemm")


if __name__ == "__main__":
    build().print_and_verify()
