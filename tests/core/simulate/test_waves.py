"""From one CTA to a launch."""

from dataclasses import replace
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.core.document import Document
from warpdraft.core.simulate import predict, simulate
from warpdraft.core.store import load

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"


def example(name):
    return load(EXAMPLES / f"{name}.warpdraft.json")


def test_small_sizes_are_simulated_to_the_end():
    found = predict(example("persistent_gemm"), {"M": 2048, "N": 2048, "K": 2048})
    assert found.exact and (found.ctas, found.waves) == (128, 1)
    assert dict(found.values) == {"k_tiles": 32, "tiles": 1}
    assert found.cycles == simulate(example("persistent_gemm"), {"k_tiles": 32, "tiles": 1}).total


def test_large_sizes_extend_the_steady_state():
    """Against the run itself, which takes a hundred times longer."""
    found = predict(example("persistent_gemm"), {"M": 4096, "N": 4096, "K": 8192})
    assert not found.exact and dict(found.values) == {"k_tiles": 128, "tiles": 4}
    direct = simulate(example("persistent_gemm"), dict(found.values))
    assert direct.ended and abs(found.cycles / direct.total - 1) < 0.005


def test_ctas_that_do_not_fit_make_waves():
    one = predict(example("gemm"), {"M": 128, "N": 128, "K": 512})
    many = predict(example("gemm"), {"M": 128 * 133, "N": 128, "K": 512})
    assert (one.waves, many.waves, many.ctas) == (1, 2, 133)
    assert many.cycles == 2 * one.cycles
    assert predict(example("gemm"), {"M": 128 * 133, "N": 128, "K": 512}, sms=200).waves == 1


def test_ctas_that_share_a_multiprocessor_are_counted_one_after_another():
    sizes = {"M": 4096, "N": 4096, "K": 512}
    alone = example("persistent_gemm")
    shared = replace(alone, ctas_per_sm=2)
    found = predict(shared, sizes)
    assert (predict(alone, sizes).ctas, found.ctas, found.waves) == (132, 264, 2)
    assert dict(found.values)["tiles"] == 2


def test_a_persistent_kernel_hides_the_epilogue_that_waves_repeat():
    sizes = {"M": 4096, "N": 4096, "K": 1024}
    assert predict(example("persistent_gemm"), sizes).cycles < predict(example("gemm"), sizes).cycles


def test_what_cannot_be_predicted():
    with pytest.raises(ValueError, match="no kernel"):
        predict(Document("d"))
