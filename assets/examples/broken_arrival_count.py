"""The persistent GEMM with an arrival count that is twice too large.

Eight math warps release a stage with one arrival each, but its empty barrier is told to wait for sixteen: the copies stop
after four stages. The verifier reports WD201 and says what the count must be.
"""

from warpdraft.assets.examples import persistent_gemm
from warpdraft.assets.examples.persistent_gemm import ring

WARPS_RELEASING = 2 * 8  # wrong: one arrival a warp makes 8


def build():
    """The schedule."""
    return persistent_gemm.build(smem_ab=ring(consumer_group=WARPS_RELEASING), name="broken_arrival_count")


if __name__ == "__main__":
    build().print_and_verify()
