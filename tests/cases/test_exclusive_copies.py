"""WD203: an acquire expects one number of bytes, whichever of the blocks behind it runs."""

import pytest
from kit import K, accepted, build, drain, finding, role

from warpdraft.core import (
    MemoryResource,
    PipelineConfig,
    SmemAllocation,
    consumer_work,
    domain_loop,
    producer_work,
    verify,
    when_false,
    when_true,
)


class Stage(MemoryResource):
    @producer_work(engine="tma")
    def load(self, stage_info): ...

    @producer_work(engine="tma", tx=512)
    def half(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...


def schedule(put, nbytes=None):
    """``put`` copies into stage ``x`` in iteration ``k``."""
    config = PipelineConfig(2, pipeline_type="TmaAsync", num_bytes=nbytes)
    x = Stage(name="x", pipeline_config=config, smem=[SmemAllocation("x", 1024)])

    def load():
        with domain_loop(0, K) as k:
            put(x, k)

    return build(role("load", 0, 1, load, [], [x]), drain(x))


def bracket(copies):
    def put(x, k):
        x.acquire()
        copies(x, k)
        x.commit()

    return put


def by_condition(first, second):
    def copies(x, k):
        with when_true("c", key="c"):
            getattr(x, first)()
        with when_false("c", key="c"):
            getattr(x, second)()

    return copies


def by_iteration(first, second):
    def copies(x, k):
        with k.first_iter():
            getattr(x, first)()
        with k.every(1, start=1):
            getattr(x, second)()

    return copies


def sometimes(x, k):
    with when_true("c", key="c"):
        x.load()


def own_brackets(x, k):
    for block, copy in ((when_true, x.load), (when_false, x.half)):
        with block("c", key="c"):
            x.acquire()
            copy()
            x.commit()


@pytest.mark.parametrize("nbytes", [None, 1024])
@pytest.mark.parametrize("copies", [by_condition("load", "load"), by_iteration("load", "load")])
def test_blocks_of_as_many_bytes(copies, nbytes):
    assert accepted(schedule(bracket(copies), nbytes))


def test_a_bracket_in_each_block():
    assert accepted(schedule(own_brackets))


@pytest.mark.parametrize("nbytes", [None, 1024])
@pytest.mark.parametrize(
    ("copies", "brought"),
    [(by_condition("load", "half"), 512), (by_iteration("half", "load"), 512), (sometimes, 0)],
)
def test_blocks_of_other_bytes(copies, brought, nbytes):
    found = finding(schedule(bracket(copies), nbytes), "WD203")
    assert (found.expected, found.actual) == (f"{brought} B", "1024 B")
    assert "an acquire and a commit inside each block" in found.notes[1] and "declare" not in found.message


def test_no_number_is_right_for_one_more_copy_in_the_last_iteration():
    def copies(x, k):
        x.load()
        with k.last_iter():
            x.half()

    rows = [f for f in verify(schedule(bracket(copies), 1024)).errors if f.code == "WD203"]
    assert rows and all("declare 1536" not in f.message for f in rows)
    assert any("load.05 is not always made" in note for f in rows for note in f.notes)


def test_a_fence_is_still_needed():
    """The twin of the right form: what both blocks bring is read by threads before the next copy."""

    def use():
        with domain_loop(0, K):
            x.wait()
            x.read()
            x.release()

    config = PipelineConfig(2, pipeline_type="TmaAsync")
    x = Stage(name="x", pipeline_config=config, smem=[SmemAllocation("x", 1024)])

    def load():
        with domain_loop(0, K) as k:
            bracket(by_condition("load", "load"))(x, k)

    document = build(role("load", 0, 1, load, [], [x]), role("use", 4, 1, use, [x]))
    assert {f.code for f in verify(document).errors} == {"WD501"}
