"""C = A B^T for Hopper: two warpgroups take turns, each with a tile of its own, in clusters of two CTAs.

While one multiplies, the other stores its tile. A member of the family in `hopper/`.
"""

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan


def build():
    """Each warpgroup works on 128 x 128 tiles; the CTAs of a cluster share B."""
    return gemm(Plan(tile=(128, 128, 64), ping_pong=True, subtile=32), "ping_pong_gemm")


if __name__ == "__main__":
    build().print_and_verify()
