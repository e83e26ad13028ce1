"""D = silu(A B^T + bias) for Hopper, with an epilogue body written by hand.

The method's source is kept in the document and copied into the exported module. A member of the family in `hopper/`.
"""

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan
from warpdraft.core import MemoryResource, consumer_work

try:
    from cutlass import cute
except ImportError:  # the schedule is captured and checked without the DSL
    cute = None

LOG2_E = 1.4426950408889634  # exp(x) = 2 ** (LOG2_E * x)


class Swish(MemoryResource):
    """It has no storage: values stay in registers."""

    @consumer_work(returns="fragment")
    def apply(self, stage_info, fragment):
        """x / (1 + exp(-x)) of every value, by the hardware's power of two and reciprocal."""
        out = cute.make_rmem_tensor(fragment.shape, fragment.element_type)
        for i in range(cute.size(fragment)):
            x = fragment[i]
            # one instruction each: ex2.approx, rcp.approx
            out[i] = x * cute.arch.rcp_approx(1.0 + cute.math.exp2(-LOG2_E * x, fastmath=True))
        return out


def build():
    """The schedule."""
    return gemm(Plan(bias=True, activation="silu"), "own_epilogue_gemm", own=Swish(name="swish"))


if __name__ == "__main__":
    build().print_and_verify()
