"""The emulator on the examples: right ones are right in every order, broken ones show, and edits keep what they promise."""

from dataclasses import replace
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.backends.emulator import ORDERS, EmulationError, emulate, emulate_all
from warpdraft.core.document import Document
from warpdraft.core.edits import DeleteNode, MoveNode, SetField, SetPipeline, SplitTask
from warpdraft.core.expressions import LoopVariable
from warpdraft.core.store import load
from warpdraft.core.tree import ops_of
from warpdraft.core.verify import verify

EXAMPLES = Path(warpdraft.assets.__file__).parent / "examples"
RAGGED = {"M": 300, "N": 520, "K": 200}


def example(name: str) -> Document:
    return load(EXAMPLES / f"{name}.warpdraft.json")


@pytest.fixture(scope="module")
def gemm() -> Document:
    return example("persistent_gemm")


def edited(document, *edits):
    for edit in edits:
        document = edit.apply(document)
    return document


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", ["tma_copy", "gemm", "persistent_gemm"])
def test_right_examples_are_right_in_every_order(name, order):
    for seed in range(2):
        outcome = emulate(example(name), seed=seed, order=order)
        assert outcome.verdict == "right", outcome
        assert outcome.relative_error < 3e-4 and outcome.tiles >= 4 and not outcome.notes


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
def test_ragged_sizes_and_types(gemm, dtype):
    if dtype == "fp32":  # twice the bytes: the schedule's stages are sized for two
        with pytest.raises(EmulationError, match=r"load_. copies [0-9]+ bytes into [0-9]+"):
            emulate(gemm, RAGGED, {"dtype": dtype})
        return
    outcome = emulate_all(gemm, RAGGED, {"dtype": dtype})
    assert outcome.verdict == "right" and outcome.ran == tuple((order, 0) for order in ORDERS)
    assert 0 < outcome.relative_error < {"fp16": 3e-4, "bf16": 2e-3}[dtype]
    assert dict(outcome.sizes) == RAGGED and outcome.tiles == 9


def test_a_stage_released_too_early_is_overwritten_while_it_is_read():
    """Only an adversary shows it: in a random order the copy is as late as on a device, where tests pass too."""
    broken = example("broken_early_release")
    assert emulate(broken).verdict == "right"
    outcome = emulate(broken, order="late-reads")
    assert outcome.verdict == "wrong" and len(outcome.wrong_tiles) == 4
    assert outcome.relative_error > 0.1 and outcome.wrong_tiles[0].tensor == "c"
    outcome = emulate_all(broken)
    assert outcome.verdict == "wrong" and outcome.ran == (("random", 0), ("late-reads", 0))
    with pytest.raises(EmulationError, match="0 seeds"):
        emulate_all(broken, seeds=0)


@pytest.mark.parametrize("name", ["broken_deadlock", "broken_arrival_count"])
def test_a_deadlock_says_who_waits_where_and_who_owes(name):
    outcome = emulate(example(name))
    assert outcome.verdict == "deadlock" and outcome.relative_error == float("inf")
    stuck = {b.warp: b for b in outcome.blocked}
    assert len(stuck) == 9
    assert stuck["load.w0"].what == "empty smem_ab[0] phase 0" and "arrivals" in stuck["load.w0"].owed
    assert stuck["load.w0"].by[0].startswith("math.w0-w7 by math.")
    assert stuck["math.w3"].what == "full smem_ab[0] phase 1"
    assert stuck["math.w3"].by == ("load.w0 by load.04, stuck at load.04 (empty smem_ab[0])",)
    assert "waits full smem_ab[0] phase 1: owed 1 of 1 arrivals, by load.w0" in str(stuck["math.w3"])


EDITS = {
    "three stages": (SetPipeline("smem_ab", "stages", 3),),
    "two stages": (SetPipeline("smem_ab", "stages", 2),),
    "the load split over two warps": (SplitTask("load", ("load_b",), "load_b", 1),),
    "no multiplication in flight": (SetField("math.07", "count", 0),),
}


@pytest.mark.parametrize("what", EDITS)
def test_harmless_edits_stay_right(gemm, what):
    assert emulate_all(edited(gemm, *EDITS[what]), RAGGED).verdict == "right"


BREAKS = {
    "no proxy fence in the first subtile": (DeleteNode("math.15"),),
    "no proxy fence in the last subtile": (DeleteNode("math.45"),),
    "a fence behind the barrier": (MoveNode("math.15", "math.01", 8),),
    "no group wait before the release": (DeleteNode("math.07"),),
    "one group too many in flight": (SetField("math.07", "count", 2),),
    "no group wait before the epilogue": (DeleteNode("math.10"),),
    "no barrier before the store": (DeleteNode("math.16"),),
    "no barrier after the store": (DeleteNode("math.22"),),
    "staging reused while it is read": (SetField("math.21", "count", 2),),
    "left while a store still reads": (DeleteNode("math.55"),),
    "no wait for full": (DeleteNode("math.03"),),
}


@pytest.mark.parametrize("what", BREAKS)
def test_each_missing_synchronisation_shows_as_wrong_tiles(gemm, what):
    outcome = emulate_all(edited(gemm, *BREAKS[what]))
    assert outcome.verdict == "wrong" and outcome.wrong_tiles


@pytest.mark.parametrize(
    "field, value", [("bytes", 49152 - 16384), ("consumer_count", 4), ("consumer_count", 9)]
)
def test_wrong_counts_and_bytes_deadlock(gemm, field, value):
    assert emulate(edited(gemm, SetPipeline("smem_ab", field, value))).verdict == "deadlock"


def test_a_lost_release_needs_many_tiles_to_show(gemm):
    """Each tile loses one of the ring's four stages: small sizes pass. The verifier needs no sizes."""
    lossy = edited(gemm, DeleteNode("math.11"))
    assert emulate_all(lossy).verdict == "right"
    assert emulate(lossy, {"M": 128 * 8, "N": 512}).verdict == "deadlock"


def test_a_missing_barrier_at_the_end_of_a_tile_needs_short_tiles_to_show(gemm):
    """With more k tiles than stages, nobody gets into the next epilogue before everybody is in the loop before it."""
    loose = edited(gemm, DeleteNode("math.52"))
    assert emulate_all(loose, {"K": 320}).verdict == "right"
    assert emulate_all(loose, {"K": 128}).verdict == "wrong"


def test_the_same_seed_gives_the_same_run(gemm):
    assert emulate(gemm, seed=3) == emulate(gemm, seed=3)
    assert emulate(gemm, seed=3).relative_error != emulate(gemm, seed=4).relative_error


@pytest.mark.parametrize("sms", [1, 3, 132])
def test_any_number_of_ctas_covers_all_tiles(gemm, sms):
    assert emulate(gemm, RAGGED, sms=sms).verdict == "right"


def with_work(document, resource, work, **changes):
    found = next(r for r in document.resources if r.name == resource)
    works = tuple(replace(w, **changes) if w.name == work else w for w in found.works)
    new = replace(found, works=works)
    return replace(document, resources=tuple(new if r.name == resource else r for r in document.resources))


def test_what_cannot_be_emulated_says_why(gemm):
    with pytest.raises(
        EmulationError, match=r"load\.05: smem_ab\.load_a has no body; the emulator runs these"
    ):
        emulate(with_work(gemm, "smem_ab", "load_a", body=""))
    with pytest.raises(EmulationError, match=r"has the body my\.module:Thing\.load"):
        emulate(with_work(gemm, "smem_ab", "load_a", body="my.module:Thing.load"))
    with pytest.raises(EmulationError, match=r"load\.05: sm90\.tma_load: parameter 'tile' is missing"):
        emulate(with_work(gemm, "smem_ab", "load_a", params=(("tensor", "a"),)))
    with pytest.raises(EmulationError, match="the kernel has no tensor 'x'"):
        emulate(
            with_work(
                gemm, "smem_ab", "load_a", params=(("tensor", "x"), ("tile", (1, 1)), ("coords", ("m", "n")))
            )
        )
    with pytest.raises(EmulationError, match="it has no kernel"):
        emulate(replace(gemm, kernel=None))
    with pytest.raises(EmulationError, match="reference 'mine:f' has no NumPy form"):
        emulate(replace(gemm, kernel=replace(gemm.kernel, reference="mine:f")))
    with pytest.raises(EmulationError, match="kernel gemm has no size Q; it has K, M, N"):
        emulate(gemm, {"Q": 1})
    with pytest.raises(EmulationError, match="kernel gemm has no parameter colour"):
        emulate(gemm, parameters={"colour": "red"})
    with pytest.raises(EmulationError, match="element type e5m2 is not emulated"):
        emulate(gemm, parameters={"dtype": "e5m2"})
    with pytest.raises(EmulationError, match="279552 bytes of shared memory are needed; a CTA has 232448"):
        emulate(edited(gemm, SetPipeline("smem_ab", "stages", 5)))
    with pytest.raises(EmulationError, match="grid has 4 CTAs; in whole clusters, the output's tiles need 6"):
        emulate(replace(gemm, cluster=(3, 1, 1)))
    with pytest.raises(EmulationError, match="order 'sideways' is unknown"):
        emulate(gemm, order="sideways")
    with pytest.raises(EmulationError, match="at most 300000 are emulated: choose smaller ones"):
        emulate(gemm, {"M": 2048, "N": 2048, "K": 8192})
    with pytest.raises(EmulationError, match="tensor c would have shape"):
        emulate(gemm, {"M": 0})


def test_a_symbol_below_its_minimum_is_refused(gemm):
    deadlock = example("broken_deadlock")  # needs four k tiles
    with pytest.raises(EmulationError, match="k_tiles is 3; the kernel needs at least 4"):
        emulate(deadlock, {"K": 192})
    assert emulate(deadlock, {"K": 256}).verdict == "right"  # with four it works


def test_stages_that_a_loop_computes(gemm):
    def stages(expression):
        edits = [
            SetField(o.id, "stage", expression(o.stage))
            for t in gemm.tasks
            for o in ops_of(t)
            if o.stage is not None
        ]
        return edited(gemm, *edits)

    tile = LoopVariable("tile")
    right = stages(lambda stage: (tile * 4 + stage) % 2)
    assert verify(right).verdict == "safe" and emulate_all(right).verdict == "right"
    turned = stages(lambda stage: (tile * 3 + stage) % 2)  # the stage that ends one tile begins the next
    assert verify(turned).verdict == "unsafe" and emulate_all(turned).verdict != "right"


def test_trip_counts_of_each_tile_are_refused(gemm):
    odd = replace(gemm, symbols=tuple(replace(s, per_tile=s.name != "tiles") for s in gemm.symbols))
    with pytest.raises(EmulationError, match="differ from tile to tile"):
        emulate(odd)


def test_a_dynamic_queue_needs_slots(gemm):
    first = gemm.resources[0]
    dynamic = replace(first, params=(*first.params, ("scheduler", "ClcDynamicPersistent")))
    with pytest.raises(EmulationError, match="has no slots for the responses"):
        emulate(replace(gemm, resources=(dynamic, *gemm.resources[1:])))
