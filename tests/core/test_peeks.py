"""What a peek may do for later waits (WD105), and values on every path (WD110)."""

import pytest
from kit import K, accepted, build, channel, codes, fill, finding, ring, role

from warpdraft.core import (
    MemoryResource,
    consumer_work,
    domain_loop,
    fence_proxy_async,
    producer_work,
    symbol,
    verify,
    when_false,
    when_true,
)


def consumer(body, split=False):
    x = channel("x", 2, advance_on_wait=split)
    return build(fill(x), role("use", 4, 1, lambda: body(x), [x]))


def after_the_release(x):  # the usual pattern of CUTLASS: look at the next stage once the state has moved
    x.try_wait()
    with domain_loop(0, K):
        x.wait()
        x.read()
        x.release()
        x.try_wait()


def before_the_release(x):
    x.try_wait()
    with domain_loop(0, K):
        x.wait()
        x.read()
        x.try_wait()
        x.release()


def behind_the_wait(x):
    x.try_wait()
    with domain_loop(0, K):
        x.wait()
        x.try_wait()
        x.read()
        x.release()


def not_always(x):
    x.try_wait()
    with domain_loop(0, K):
        x.wait()
        x.read()
        x.release()
        with when_true("more"):
            x.try_wait()


def in_a_loop_that_may_not_run(x):
    with domain_loop(0, K):
        x.wait()
        x.read()
        x.release()
        with domain_loop(0, symbol("polls")):
            x.try_wait()


def once(x):
    with domain_loop(0, K) as k:
        with k.first_iter():
            x.try_wait()
        x.wait()
        x.read()
        x.release()


def two_waits_for_one_stage(x):
    with domain_loop(0, K):
        x.try_wait()
        x.wait()
        x.wait()
        x.read()
        x.release()


def only_where_the_peek_said_no(x):
    with domain_loop(0, K):
        ready = x.try_wait()
        with when_false(ready):
            x.wait()
        x.read()
        x.release()


@pytest.mark.parametrize(
    ("body", "split"),
    [
        (after_the_release, False),
        (after_the_release, True),
        (before_the_release, True),
        (behind_the_wait, True),
        (in_a_loop_that_may_not_run, False),
        (two_waits_for_one_stage, False),
        (only_where_the_peek_said_no, False),
    ],
)
def test_a_peek_at_the_stage_that_is_waited_for(body, split):
    assert accepted(consumer(body, split))


@pytest.mark.parametrize("body", [before_the_release, behind_the_wait])
def test_a_peek_at_the_stage_in_hand(body):
    found = finding(consumer(body), "WD105")
    assert "use 1 (stage 1)" in found.message and "use 0 (stage 0)" in found.message
    assert found.ops == ("use.03",)


@pytest.mark.parametrize("body", [not_always, once])
def test_a_peek_that_is_not_refreshed(body):
    assert {"WD105", "WD401"} <= codes(consumer(body))


@pytest.mark.parametrize("early", [True, False])
def test_a_producers_peek_at_the_stage_in_hand(early):
    x = channel("x", 2)

    def load():
        x.try_acquire()
        with domain_loop(0, K):
            x.acquire()
            x.fill()
            if early:
                x.try_acquire()
            x.commit()
            if not early:
                x.try_acquire()

    def use():
        with domain_loop(0, K):
            x.wait()
            x.read()
            x.release()

    schedule = build(role("load", 0, 1, load, [], [x]), role("use", 4, 1, use, [x]))
    assert ("WD105" in codes(schedule)) == early


def test_a_peek_in_a_cluster_is_proved_as_that_of_one_cta():
    """Each CTA has stages of its own."""
    x = ring("x", 2, cta_layout_vmnk=(1, 2, 1, 1))

    def load():
        with domain_loop(0, K):
            x.acquire()
            x.load(multicast="all")
            x.commit()

    def use():
        with domain_loop(0, K):
            x.try_wait()
            x.wait()
            x.read()
            fence_proxy_async()
            x.release()

    report = verify(build(role("load", 0, 1, load, [], [x]), role("use", 4, 1, use, [x]), cluster=(2, 1, 1)))
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope.reason


class Values(MemoryResource):
    """Hands on a value."""

    @consumer_work(returns="v")
    def get(self, stage_info): ...

    @producer_work
    def put(self, stage_info, v): ...


def path(body):
    a, b = Values(name="a"), Values(name="b")
    return build(role("t", 0, 1, lambda: body(a, b), [a], [b]))


def one_branch(a, b):
    with domain_loop(0, K):
        with when_true("c"):
            v = a.get()
        b.put(v=v)


def other_branch(a, b):
    with domain_loop(0, K):
        with when_false("c"):
            v = a.get()
        b.put(v=v)


def another_condition(a, b):
    with domain_loop(0, K):
        with when_true("c"):
            v = a.get()
        with when_true("d"):
            b.put(v=v)


def inner_loop(a, b):
    with domain_loop(0, K):
        with domain_loop(0, symbol("j")):
            v = a.get()
        b.put(v=v)


def second_iteration(a, b):
    with domain_loop(0, K) as k:
        with k.every(1, start=1):
            v = a.get()
        b.put(v=v)


@pytest.mark.parametrize("body", [one_branch, other_branch, another_condition, inner_loop, second_iteration])
def test_a_value_that_some_path_does_not_write(body):
    assert codes(path(body)) == {"WD110"}


def both_branches(a, b):
    with domain_loop(0, K):
        for block in (when_true, when_false):
            with block("c"):
                v = a.get(results="v")
        b.put(v=v)


def same_condition(a, b):
    with domain_loop(0, K):
        with when_false("c"):
            v = a.get()
        with when_false("c"):
            b.put(v=v)


def a_loop_that_runs(a, b):
    with domain_loop(0, K):
        with domain_loop(0, symbol("j", min=1)):
            v = a.get()
        b.put(v=v)


def first_iteration(a, b):
    with domain_loop(0, K) as k:
        with k.first_iter():
            v = a.get()
        b.put(v=v)


@pytest.mark.parametrize("body", [both_branches, same_condition, a_loop_that_runs, first_iteration])
def test_a_value_that_every_path_writes(body):
    assert accepted(path(body))
