"""Asynchronous works that are given no view read the stage in hand of what the graph says they are made from (WD106)."""

import pytest
from kit import accepted, build, channel, codes, fill, finding, ring, role

from warpdraft.core import (
    AsyncGroup,
    MemoryResource,
    PipelineConfig,
    Signal,
    TaskManager,
    TmemAllocation,
    consumer_work,
    domain_loop,
    fence_proxy_async,
    producer_work,
    symbol,
    tcgen05_wait_ld,
)

STEPS = symbol("steps", min=1)


class Product(MemoryResource):
    """What wgmma makes of the stages in hand; ``scaled`` takes a value."""

    @producer_work(engine="wgmma")
    def mma(self, stage_info): ...

    @producer_work(engine="wgmma")
    def scaled(self, stage_info, factor): ...


class TensorProduct(MemoryResource):
    """The same by a tensor core on its own."""

    @producer_work(engine="tcgen05")
    def mma(self, stage_info): ...


def gemm(body, split=False, graph=True):
    ab, acc, group = (
        ring("ab", 3, advance_on_wait=split),
        Product(name="acc", space="rmem"),
        AsyncGroup("wgmma"),
    )
    tasks = [fill(ab, STEPS), role("math", 4, 4, lambda: body(ab, acc, group), [ab], [acc])]
    return build(*tasks) if graph else TaskManager(tasks, {}, name="case").document


def multiply(acc, group, newest=0):
    acc.mma()
    group.commit()
    group.wait(newest)


def held(ab, acc, group):
    with domain_loop(0, STEPS):
        ab.wait()
        multiply(acc, group)
        ab.release()


def lagging(ab, acc, group):
    with domain_loop(0, STEPS) as k:
        ab.wait()
        multiply(acc, group, 1)
        with k.every(1, start=1):
            ab.release()
    group.wait(0)
    ab.release()


def peeled(ab, acc, group):
    ab.wait()
    multiply(acc, group, 1)
    with domain_loop(0, STEPS - 1):
        ab.wait()
        multiply(acc, group, 1)
        ab.release()
    group.wait(0)
    ab.release()


def a_value_of_the_stage(ab, acc, group):
    with domain_loop(0, STEPS):
        ab.wait()
        factor = ab.value()
        fence_proxy_async()
        ab.release()
        acc.scaled(factor=factor)
        group.commit()
        group.wait(0)


@pytest.mark.parametrize("work", ["read", "tile", "value"])
@pytest.mark.parametrize("early", [True, False])
def test_what_may_be_a_descriptor_is_read_until_the_product_is_complete(work, early):
    """Whatever the work says of itself, but that its threads read: then wgmma takes a value."""

    def body(ab, acc, group):
        with domain_loop(0, STEPS):
            ab.wait()
            factor = getattr(ab, work)()
            fence_proxy_async()
            ab.release() if early else None
            acc.scaled(factor=factor)
            group.commit()
            group.wait(0)
            None if early else ab.release()

    document = gemm(body, False)
    assert "WD403" in codes(document) if early and work != "value" else accepted(document)


@pytest.mark.parametrize(
    ("body", "split"),
    [(held, False), (held, True), (lagging, True), (peeled, True), (a_value_of_the_stage, False)],
)
def test_a_stage_that_is_held_until_the_product_is_complete(body, split):
    assert accepted(gemm(body, split))


def released_before(ab, acc, group):
    with domain_loop(0, STEPS):
        ab.wait()
        ab.release()
        multiply(acc, group)


def read_and_released_before(ab, acc, group):
    with domain_loop(0, STEPS):
        ab.wait()
        ab.read()
        fence_proxy_async()
        ab.release()
        multiply(acc, group)


def too_early_for_the_lag(ab, acc, group):
    with domain_loop(0, STEPS):
        ab.wait()
        multiply(acc, group, 1)
        ab.release()
    group.wait(0)


def never_waited_for(ab, acc, group):
    with domain_loop(0, STEPS):
        ab.wait()
        acc.mma()
        group.commit()
        ab.release()


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (released_before, "WD106"),
        (read_and_released_before, "WD106"),
        (too_early_for_the_lag, "WD403"),
        (never_waited_for, "WD403"),
    ],
)
def test_a_stage_that_is_given_back_too_early(body, code, split):
    found = finding(gemm(body, split), code)
    assert found.resources == ("ab",) and any(op.startswith("math.") for op in found.ops)


def test_without_an_edge_nothing_is_implied():
    assert codes(gemm(released_before, graph=False)) == {"WD102"}


@pytest.mark.parametrize("signal", [Signal.COMMIT, None])
def test_tensor_cores_give_back_by_their_commit(signal):
    ab = ring("ab", 3, consumer_signaling_threads=signal)
    acc = TensorProduct(name="acc", tmem=[TmemAllocation("acc", 128)])

    def math():
        with domain_loop(0, STEPS):
            ab.wait()
            acc.mma()
            ab.release()

    schedule = build(fill(ab, STEPS), role("math", 4, 1, math, [ab], [acc]))
    assert codes(schedule) == (set() if signal else {"WD403"})


class Store(MemoryResource):
    """Global memory, stored to by a bulk copy of the stage in hand."""

    @producer_work(engine="bulk_store")
    def store(self, stage_info): ...


@pytest.mark.parametrize("newest", [0, 1])
def test_a_bulk_store_of_the_stage_in_hand(newest):
    ab, out, group = ring("ab", 2), Store(name="out", space="gmem"), AsyncGroup("bulk_store")

    def copy():
        with domain_loop(0, STEPS):
            ab.wait()
            out.store()
            group.commit()
            group.wait_read(newest)
            ab.release()
        group.wait_read(0)

    schedule = build(fill(ab, STEPS), role("copy", 4, 1, copy, [ab], [out]))
    assert codes(schedule) == ({"WD403"} if newest else set())


def test_an_upstream_that_is_used_only_later():
    """A second operand that is added behind the loop: the products before do not read it."""
    ab, c = ring("ab", 2), channel("c", 1)
    tiles = symbol("tiles")

    class Sum(Product):
        @producer_work
        def add(self, stage_info, value): ...

        @consumer_work
        def read(self, stage_info): ...

    acc, group = Sum(name="acc", space="rmem"), AsyncGroup("wgmma")

    def math():
        with domain_loop(0, tiles):
            with domain_loop(0, STEPS):
                ab.wait()
                multiply(acc, group)
                ab.release()
            c.wait()
            acc.add(value=c.read())
            c.release()

    def load():
        with domain_loop(0, tiles), domain_loop(0, STEPS):
            ab.acquire()
            ab.load()
            ab.commit()

    loads = [role("load", 0, 1, load, [], [ab]), fill(c, tiles, "load_c", 1)]
    assert accepted(build(*loads, role("math", 4, 4, math, [ab, c], [acc])))


def described(trips, early):
    """A tensor core that is given descriptors which a consumer work of its operands has returned."""

    class Operands(MemoryResource):
        @producer_work
        def fill(self, stage_info): ...

        @consumer_work
        def operands(self, stage_info): ...

    class Tensor(MemoryResource):
        @producer_work(engine="tcgen05")
        def mma(self, stage_info, operands): ...

        @consumer_work(engine="tcgen05_ld")
        def load(self, stage_info): ...

    config = PipelineConfig(2, pipeline_type="TmaUmma")
    ab = Operands(name="ab", storage=1024, pipeline_config=config)
    acc = Tensor(
        name="acc",
        space="tmem",
        pipeline_config=PipelineConfig(1, pipeline_type="UmmaAsync"),
        tmem=[TmemAllocation("acc", 128)],
    )

    def multiply():
        acc.acquire()
        with domain_loop(0, trips):
            ab.wait()
            operands = ab.operands()
            if early:
                ab.release()
            acc.mma(operands=operands)
            if not early:
                ab.release()
        acc.commit()

    def use():
        acc.wait()
        acc.load()
        tcgen05_wait_ld()
        acc.release()

    mma = role("mma", 4, 1, multiply, [ab], [acc])
    return build(fill(ab, trips), mma, role("use", 8, 4, use, [acc]))


def test_descriptors_are_read_where_they_are_used():
    trips = symbol("trips", min=1)
    assert accepted(described(trips, early=False))
    assert {"WD106", "WD403"} <= codes(described(trips, early=True))
