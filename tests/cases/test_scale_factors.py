"""Scale factors: `tcgen05.cp` behind an MMA that reads the same columns of tensor memory, and behind one that does not."""

from kit import Ring, accepted, build, do, finding, role
from tensor_kit import SM100, plain, tensor

from warpdraft.core import PipelineConfig, SmemAllocation, domain_loop, symbol, verify

STEPS = symbol("steps", min=1)


def scaled(reads):
    """Each iteration copies scale factors over the last ones; the MMA behind it ``reads`` them, or does not say so."""
    config = PipelineConfig(2, pipeline_type="TmaUmma")
    ab = Ring(name="ab", pipeline_config=config, smem=[SmemAllocation("ab", 1024)])
    sf, acc = plain("sf", 32, offset=256), tensor("acc")

    def load():
        with domain_loop(0, STEPS):
            ab.acquire()
            ab.load()
            ab.commit()

    def mma():
        acc.acquire()
        with domain_loop(0, STEPS):
            ab.wait()
            sf.copy(tile=ab.tile())
            acc.mma_from(tile=sf.view()) if reads else acc.mma()
            ab.release()
        acc.commit()

    def epilogue():
        do(acc, "wait read release")

    sources = [ab, sf] if reads else [ab]
    tasks = role("load", 0, 1, load, [], [ab]), role("mma", 1, 1, mma, sources, [sf, acc])
    return build(*tasks, role("epilogue", 4, 4, epilogue, [acc]), **SM100)


def test_the_mma_between_keeps_the_copies_in_order():
    assert accepted(scaled(True))
    assert any(
        "tcgen05.cp writes columns only when the MMA before" in text
        for text in verify(scaled(True)).scope.assumed
    )


def test_an_mma_that_says_nothing_of_them_does_not():
    found = finding(scaled(False), "WD408")
    assert any("cp -> mma" in note and "mma -> shift" in note for note in found.notes)
    assert any("nothing says that it reads sf[0]" in note for note in found.notes)
