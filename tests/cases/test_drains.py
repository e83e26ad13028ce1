"""C48 with drains that schedules state: whose they are, where they stand, and what they wait for."""

import pytest
from kit import K, Ring, accepted, build, channel, codes, finding, ring, role

from warpdraft.core import NamedBarrier, domain_loop, elect_warp, fence_proxy_async, symbol, verify

PAIR = {"cluster": (2, 1, 1)}
N = symbol("n", min=1)


def fill(x, drain="end", trips=K, write="share"):
    """A producer that drains ``x`` at its end, before or in its loop, or not at all."""

    def body():
        x.producer_tail() if drain == "before" else None
        with domain_loop(0, trips):
            x.acquire()
            x.load() if isinstance(x, Ring) else getattr(x, write)()
            x.commit()
            x.producer_tail() if drain == "inside" else None
        x.producer_tail() if drain == "end" else None

    return body


def use(x, drains=None, trips=K, skips=0):
    """A consumer that keeps its last ``skips`` stages, and may drain another pipeline."""

    def body():
        drains.producer_tail() if drains is not None else None
        with domain_loop(0, trips) as k:
            x.wait()
            x.read()
            fence_proxy_async()
            with k.every(1, start=skips):
                x.release()

    return body


def one_cta(drain="end", skips=0, **options):
    x = ring("x", 3, **options)
    return build(role("load", 0, 1, fill(x, drain), [], [x]), role("math", 4, 1, use(x, skips=skips), [x]))


def chain(drainer):
    """Two rings one after the other; ``drainer`` drains the second."""
    x, y = channel("x", 2), channel("y", 2)

    def first():
        fill(x, "none")()
        y.producer_tail() if drainer == "first" else None

    def second():
        with domain_loop(0, K):
            x.wait()
            y.acquire()
            y.share()
            y.commit()
            x.release()
        y.producer_tail() if drainer == "second" else None

    def last():
        use(y)()
        y.producer_tail() if drainer == "last" else None

    return build(
        role("first", 0, 4, first, [], [x, y] if drainer == "first" else [x]),
        role("second", 4, 4, second, [x], [y]),
        role("last", 8, 4, last, [y], [y] if drainer == "last" else []),
    )


def pair(drain, released=True):
    a = ring("a", cta_layout_vmnk=(1, 2, 1, 1), advance_on_wait=not released)

    def load():
        a.producer_tail() if drain == "before" else None
        with domain_loop(0, N):
            a.acquire()
            a.load(multicast="n")
            a.commit()
        a.producer_tail() if drain == "end" else None

    return build(
        role("load", 0, 1, load, [], [a]),
        role("math", 4, 1, use(a, trips=N, skips=0 if released else 1), [a]),
        **PAIR,
    )


class TestC48:
    @pytest.mark.parametrize("drainer", ["first", "last"])
    def test_a_drain_by_somebody_else(self, drainer):
        found = finding(chain(drainer), "WD218")
        assert found.tasks == (drainer, "second") and found.resources == ("y",)

    def test_a_drain_by_who_fills(self):
        document = chain("second")
        assert accepted(document) and verify(document).scope.kind == "all"

    def test_a_drain_of_what_nobody_fills(self):
        x = channel("x", 2)
        document = build(role("a", 0, 1, lambda: x.producer_tail(), [], [x]))
        assert "which nobody fills" in finding(document, "WD218").message

    @pytest.mark.parametrize("drain", ["end", "before", "inside"])
    def test_everything_is_released(self, drain):
        assert accepted(one_cta(drain))

    def test_what_is_drained_is_not_released(self):
        found = finding(one_cta("end", skips=1, advance_on_wait=True), "WD218")
        assert found.tasks[0] == "load" and "at its end" not in found.message
        assert codes(one_cta("inside", skips=1, advance_on_wait=True)) & {"WD218", "WD301"}

    def test_nobody_drains_within_a_cta(self):
        assert accepted(one_cta("none"))

    def test_across_ctas_the_end_drains(self):
        assert accepted(pair("end")) and accepted(pair("none"))  # a task's end does it where nobody says when

    def test_across_ctas_a_drain_too_early(self):
        """The schedule says when, and then remote arrivals are still to come as the CTA exits."""
        assert "WD703" in codes(pair("before"))

    def test_across_ctas_not_all_is_released(self):
        assert "WD218" in codes(pair("end", released=False))

    @pytest.mark.parametrize("met", [False, True])
    def test_another_warp_of_the_task_drains(self, met):
        """It has seen no stage released, so that a parity may deceive it, unless it meets the warp that has."""
        x = channel("x", 2)

        def body():
            with elect_warp(0):
                fill(x, "none", write="fill")()
            NamedBarrier(1, 64, name="meet").sync() if met else None
            with elect_warp(1):
                x.producer_tail()

        document = build(role("load", 0, 2, body, [], [x]), role("math", 4, 1, use(x), [x]))
        assert accepted(document) if met else {"WD205", "WD206"} & codes(document)

    def test_in_each_tile_of_a_loop(self):
        x = channel("x", 2)

        def body():
            with domain_loop(0, N):
                fill(x)()

        def other():
            with domain_loop(0, N):
                use(x)()

        assert accepted(build(role("load", 0, 1, body, [], [x]), role("math", 4, 1, other, [x])))
