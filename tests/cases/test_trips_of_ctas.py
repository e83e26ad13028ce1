"""C52 with raw mbarriers: the CTAs of a pair share full and empty, and have loops of their own length."""

import pytest
from kit import MemoryResource, SmemAllocation, accepted, build, codes, finding, role

from warpdraft.core import (
    MBarrier,
    cluster_sync,
    consumer_work,
    cta_rank,
    domain_loop,
    fence_proxy_async,
    producer_work,
    symbol,
)

WARPS = 4


class Tile(MemoryResource):
    @producer_work(engine="tma")
    def load(self, stage_info, barrier): ...

    @consumer_work
    def read(self, stage_info): ...


def things():
    tile = Tile(name="b", smem=[SmemAllocation("b", 2048)])
    return tile, MBarrier("full", 1), MBarrier("empty", 2 * WARPS)


def document(load, use, tile):
    tasks = role("load", 0, 1, load, [], [tile]), role("use", 4, WARPS, use, [tile])
    return build(*tasks, cluster=(2, 1, 1))


def both_issue(trips):
    """Each CTA copies its half of every tile to both; all warps of both release it."""
    b, full, empty = things()

    def of_each(body):
        def each():
            for rank, count in enumerate(trips):
                with cta_rank(rank), domain_loop(0, count) as k:
                    body(rank, k)
            cluster_sync()

        return each

    def load(rank, k):
        with k.every(1, start=1):
            empty.wait()
        full.arrive_expect_tx(2048)
        b.load(barrier=full, footprint=(1024 * rank, 1024), multicast="all")

    def use(rank, k):
        full.wait()
        b.read()
        fence_proxy_async()
        empty.arrive(cta="all")

    return document(of_each(load), of_each(use), b)


def one_issues(trips):
    """CTA 0 copies to both, as often as it has tiles."""
    b, full, empty = things()

    def load():
        with cta_rank(0), domain_loop(0, trips[0]) as k:
            with k.every(1, start=1):
                empty.wait()
            full.arrive_expect_tx(2048, cta="all")
            b.load(barrier=full, multicast="all")
        cluster_sync()

    def use():
        for rank, count in enumerate(trips):
            with cta_rank(rank), domain_loop(0, count):
                full.wait()
                b.read()
                fence_proxy_async()
                empty.arrive(cta=0)
        cluster_sync()

    return document(load, use, b)


@pytest.mark.parametrize("form", [both_issue, one_issues])
@pytest.mark.parametrize("trips", [(6, 4), (4, 6), (3, 2)])
def test_other_counts(form, trips):
    found = codes(form(trips))
    assert "WD704" in found and found <= {"WD704", "WD301", "WD302"}
    row = finding(form(trips), "WD704")
    assert "CTA 0" in row.actual and "CTA 1" in row.actual


@pytest.mark.parametrize("form", [both_issue, one_issues])
@pytest.mark.parametrize("trips", [(6, 6), (1, 1)])
def test_one_count(form, trips):
    assert accepted(form(trips))


def test_a_count_of_each_cta():
    g = symbol("g", per_cta=True)
    assert "WD704" in codes(both_issue((g, g)))
    assert accepted(both_issue((symbol("n"), symbol("n"))))


def test_arrivals_of_another_number_in_one_phase():
    """Six of one CTA and four of the other fill one phase: as many as are counted."""
    go = MBarrier("go", 10)

    def signal():
        for rank, count in enumerate((6, 4)):
            with cta_rank(rank), domain_loop(0, count):
                go.arrive(cta=0)
        with cta_rank(0):
            go.wait()
        cluster_sync()

    assert accepted(build(role("signal", 0, 1, signal), cluster=(2, 1, 1)))
