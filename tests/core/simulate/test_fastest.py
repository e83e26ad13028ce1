"""Of documents that compute the same, the one that is predicted to be done first."""

import pytest

from warpdraft.assets.examples.hopper.gemm import gemm
from warpdraft.assets.examples.hopper.plan import Plan
from warpdraft.core.simulate import fastest, predict

LARGE = gemm(Plan(cluster=(1, 1)), "large").document
SMALL = gemm(Plan(tile=(128, 64, 64), cluster=(1, 1)), "small").document


def test_a_small_product_is_cut_into_small_tiles_and_a_large_one_is_not():
    for extent, best in ((1024, SMALL), (2048, LARGE)):
        sizes = {"M": extent, "N": extent, "K": 512}
        chosen, predicted = fastest([LARGE, SMALL], sizes)
        assert chosen is best
        assert predicted.cycles == min(predict(d, sizes).cycles for d in (LARGE, SMALL))


def test_of_equal_ones_the_first():
    other = gemm(Plan(cluster=(1, 1)), "other").document
    assert fastest([LARGE, other], {"M": 1024, "N": 1024, "K": 512})[0] is LARGE


def test_nothing_to_choose_from():
    with pytest.raises(ValueError, match="nothing to choose from"):
        fastest([])
