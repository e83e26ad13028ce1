"""From one CTA to a launch."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.core.document import Document
from warpdraft.core.simulate import SM90_COSTS, predict, simulate
from warpdraft.core.store import load

SIZES = ((2048, 2048, 2048), (2048, 2048, 8192))
EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"


def example(name):
    return load(EXAMPLES / f"{name}.warpdraft.json")


def test_small_sizes_are_simulated_to_the_end():
    found = predict(example("persistent_gemm"), {"M": 2048, "N": 2048, "K": 2048})
    assert found.exact and (found.ctas, found.waves) == (128, 1)
    assert dict(found.values) == {"k_tiles": 32, "tiles": 1}
    alone = simulate(example("persistent_gemm"), {"k_tiles": 32, "tiles": 1}).total
    assert found.cycles == alone + SM90_COSTS.launch


def test_large_sizes_extend_the_steady_state():
    """Against the run itself, which takes a hundred times longer."""
    found = predict(example("persistent_gemm"), {"M": 4096, "N": 4096, "K": 8192})
    assert not found.exact and dict(found.values) == {"k_tiles": 128, "tiles": 4}
    direct = simulate(example("persistent_gemm"), dict(found.values))
    assert direct.ended and abs(found.cycles / direct.total - 1) < 0.005


def test_ctas_that_do_not_fit_make_waves():
    gemm = replace(example("gemm"), ctas_per_sm=1)
    one = predict(gemm, {"M": 128, "N": 128, "K": 512})
    many = predict(gemm, {"M": 128 * 133, "N": 128, "K": 512})
    assert (one.waves, many.waves, many.ctas) == (1, 2, 133)
    assert many.cycles == 2 * one.cycles
    assert predict(gemm, {"M": 128 * 133, "N": 128, "K": 512}, sms=200).waves == 1


def test_ctas_that_share_a_multiprocessor_take_as_long_as_its_busiest_engine():
    """Two CTAs of `gemm` keep the tensor cores busy, where one alone leaves them idle while it stores."""
    shared = example("gemm")
    alone = replace(shared, ctas_per_sm=1)
    sizes = {"M": 128 * 264, "N": 128, "K": 4096}
    one, two = predict(alone, sizes), predict(shared, sizes)
    assert (one.waves, two.waves) == (2, 1)
    products = 2 * 64 * 2 * 128 * 128 * 64 // SM90_COSTS.tensor_flop_per_cycle
    assert products < two.cycles < products + 2000 < one.cycles
    few = {"M": 128 * 100, "N": 128, "K": 4096}  # each CTA has a multiprocessor for itself
    assert predict(alone, few).cycles == predict(shared, few).cycles == one.cycles // 2


def test_a_persistent_kernel_hides_the_epilogue_that_waves_repeat():
    sizes = {"M": 4096, "N": 4096, "K": 1024}
    gemm = replace(example("gemm"), ctas_per_sm=1)
    assert predict(example("persistent_gemm"), sizes).cycles < predict(gemm, sizes).cycles


def test_predictions_hold_against_launches_that_were_measured():
    """On an H200, of schedules that the cost table was not fitted to: `python benchmarks/prediction.py` shows every row."""
    scope = runpy.run_path(str(Path(__file__).parents[3] / "benchmarks" / "prediction.py"))
    held_out = [row for row in scope["rows"](SIZES) if row[0] not in scope["CALIBRATION"]]
    error, rank, least = scope["summary"](held_out)
    assert len({row[0] for row in held_out}) >= 24
    assert error <= 0.15 and rank >= 0.9 and least >= 0.8


def test_what_cannot_be_predicted():
    with pytest.raises(ValueError, match="no kernel"):
        predict(Document("d"))
