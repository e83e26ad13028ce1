"""Clusters: streams and barriers of each CTA, routes of pipelines, multicast, pairs, the cluster barrier, proofs."""

from dataclasses import replace

import pytest

from warpdraft.core.arrivals import (
    bracket_bytes,
    derived_empty_count,
    derived_full_count,
    first_acquire,
    routes,
)
from warpdraft.core.document import (
    Engine,
    GuardKind,
    Mbarrier,
    OpKind,
    Pipeline,
    Resource,
    Signal,
    Space,
    Storage,
    Work,
)
from warpdraft.core.expressions import Symbol
from warpdraft.core.hazards.examples import (
    K,
    acquire,
    buffer,
    commit,
    document,
    fence,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    release,
    ring,
    task,
    wait,
    work,
)
from warpdraft.core.machine import Machine
from warpdraft.core.simulate import simulate
from warpdraft.core.unroll import unroll
from warpdraft.core.verify import verify

PAIR = {"cluster": (2, 1, 1)}


def in_cta(rank, *body):
    return guard(GuardKind.CTA_RANK, *body, cta=rank)


def cluster_sync():
    return op(OpKind.CLUSTER_SYNC)


def with_multicast(resource, ctas):
    works = tuple(replace(w, ctas=ctas) if w.engine is Engine.TMA else w for w in resource.works)
    return replace(resource, works=works)


def shared_ring(ctas="n", end=True, trips=K, **pipeline):
    """A ring whose copies every CTA of a pair issues for both."""
    last = (cluster_sync(),) if end else ()
    pipeline = {"cta_layout": (1, 2, 1, 1), **pipeline}
    return document(
        "multicast",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"), stop=trips), *last),
        task("use", 4, 1, loop(wait("ab"), work("ab", "read"), fence(), release("ab"), stop=trips), *last),
        resources=(with_multicast(ring(**pipeline), ctas),),
        symbols=(trips,) if isinstance(trips, Symbol) else (),
        **PAIR,
    )


def codes(report):
    return [f.code for f in report.errors]


def test_one_cta_stands_for_all_that_never_meet():
    plain = replace(shared_ring(ctas="", cta_layout=(), end=False), cluster=(4, 2, 1))
    assert Machine(plain).ctas == 1 and verify(plain).scope.kind == "all"


def test_streams_barriers_and_memory_exist_once_a_cta():
    program = unroll(shared_ring(), {"k_tiles": 1})
    assert [s.name for s in program.streams] == ["load.w0", "use.w0", "load@1.w0", "use@1.w0"]
    names = [b.name for b in program.barriers]
    assert names[:2] == ["full ab[0]", "full ab[1]"] and "empty ab@1[1]" in names and names[-1] == "cluster"
    writes = {a.space for s in program.streams for e in s.events for a in e.accesses if a.write}
    assert writes == {"smem", "smem@1"}


def test_a_multicast_copy_completes_on_every_receiver():
    program = unroll(shared_ring(), {"k_tiles": 1})
    copies = [e for e in program.streams[0].events if e.op == "load.02"]
    assert [program.barriers[e.barrier].name for e in copies] == ["full ab[0]", "full ab@1[0]"]
    assert [e.bytes for e in copies] == [512, 512]
    assert [(a.low - copies[0].accesses[0].low, a.high - a.low) for e in copies for a in e.accesses] == [
        (0, 512)
    ] * 2
    release = next(e for e in program.streams[1].events if e.op == "use.04")
    assert [program.barriers[b].name for b in release.barriers] == ["empty ab[0]", "empty ab@1[0]"]


def test_a_multicast_ring_is_proved_for_all_trip_counts():
    report = verify(shared_ring())
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report
    assert verify(shared_ring(ctas="")).scope.assumed  # who fills what is taken for granted


def test_counts_and_bytes_are_those_of_all_ctas():
    d = shared_ring()
    assert derived_empty_count(d, d.resources[0], 1) == 2
    assert derived_full_count(d, d.resources[0], 1) == 1
    load = d.tasks[0]
    assert bracket_bytes(d, d.resources[0], load, first_acquire(load, d.resources[0]), 1) == 1024
    assert codes(verify(shared_ring(consumer_count=1)))[0] == "WD201"
    assert verify(shared_ring(consumer_count=2, bytes=1024)).verdict == "safe"
    assert "WD203" in codes(verify(shared_ring(bytes=2048)))


def pair(nbytes=None, leader=True, **fields):
    """Loads of both CTAs of a pair feed the leader's MMA, whose result both read."""
    layout = {"cta_layout": (2, 1, 1, 1)}
    a = ring("a", 2, **layout, consumer_signal=Signal.COMMIT, bytes=nbytes, consumer_cta_leader=leader)
    a = replace(a, pipeline=replace(a.pipeline, type="TmaUmma"))
    acc = Resource(
        "acc",
        Space.TMEM,
        Pipeline(1, "UmmaAsync", consumer_signal=Signal.WARP, producer_cta_leader=leader, **layout),
        Storage(128),
        (Work("mma", "producer", Engine.TCGEN05, parameters=("a",)), Work("read", "consumer")),
    )
    mma = (
        wait("a"),
        acquire("acc"),
        work("a", "tile", result="t"),
        work("acc", "mma", a="t"),
        release("a"),
        commit("acc"),
    )
    return document(
        "pair",
        task("load", 0, 1, loop(acquire("a"), work("a", "load"), commit("a")), cluster_sync()),
        task("mma", 1, 1, loop(*mma), cluster_sync()),
        task("epilogue", 4, 4, loop(wait("acc"), work("acc", "read"), release("acc")), cluster_sync()),
        resources=(a, acc),
        target="sm_100a",
        **PAIR,
        **fields,
    )


def test_a_pair_works_as_cutlass_routes_it():
    d = pair()
    found = routes(d, d.resources[0])
    assert found.full == ((0,), ()) and found.landing == (0, 0) and found.empty == ((0, 1), (0, 1))
    assert routes(d, d.resources[1]).full == ((0, 1), (0, 1)) and routes(d, d.resources[1]).empty == (
        (0,),
        (0,),
    )
    assert derived_empty_count(d, d.resources[1]) == 8 and derived_empty_count(d, d.resources[0]) == 1
    assert Machine(d).armed_by(d.resources[0], d.tasks[0], first_acquire(d.tasks[0], d.resources[0])) == 2048


@pytest.mark.parametrize(("nbytes", "wrong"), [(None, []), (2048, []), (1024, ["WD203"]), (4096, ["WD203"])])
def test_the_bytes_of_a_pair_are_those_of_both(nbytes, wrong):  # C11
    report = verify(pair(nbytes))
    assert [c for c in codes(report) if c == "WD203"] == wrong and (report.verdict == "safe") == (
        not wrong
    ), report


def handshake(back=True, rank=1):
    """CTA 0 tells CTA 1 each turn, which answers."""
    tell = in_cta(0, mbar_arrive("go"), *([mbar_wait("done")] if back else []))
    go = replace(tell.body[0], ctas=(rank,))
    tell = replace(tell, body=(go, *tell.body[1:]))
    answer = in_cta(1, mbar_wait("go"), *([replace(mbar_arrive("done"), ctas=(0,))] if back else []))
    return document(
        "handshake",
        task("talk", 0, 1, loop(tell, answer), cluster_sync()),
        mbarriers=(Mbarrier("go"), Mbarrier("done")) if back else (Mbarrier("go"),),
        **PAIR,
    )


def test_remote_arrivals():
    report = verify(handshake())
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report
    assert "WD205" in codes(verify(handshake(back=False)))


class TestClusterBarrier:
    def two(self, first, second, **fields):
        return document(
            "halves",
            task("a", 0, 1, *first),
            task("b", 4, 1, *second),
            resources=(buffer("x"),),
            **(PAIR | fields),
        )

    def test_it_orders_memory_of_all_ctas(self):
        fill, read = work("x", "fill"), work("x", "read")
        remote = replace(read, ctas="peer")
        good = self.two((fill, cluster_sync(), cluster_sync()), (cluster_sync(), remote, cluster_sync()))
        assert verify(good).verdict == "safe", verify(good)
        bad = self.two((fill, cluster_sync()), (remote, cluster_sync()))
        assert "WD401" in codes(verify(bad))

    def test_halves(self):
        fill, remote = work("x", "fill"), replace(work("x", "read"), ctas="peer")
        arrive, await_ = op(OpKind.CLUSTER_ARRIVE), op(OpKind.CLUSTER_WAIT)
        good = self.two((fill, arrive, await_, cluster_sync()), (arrive, await_, remote, cluster_sync()))
        assert verify(good).verdict == "safe", verify(good)
        early = self.two((arrive, fill, await_, cluster_sync()), (arrive, await_, remote, cluster_sync()))
        assert "WD401" in codes(verify(early))

    def test_tasks_that_only_it_joins_are_proved_together(self):
        each = loop(work("x", "fill"), cluster_sync()), loop(cluster_sync())
        report = verify(self.two(*[(body,) for body in each]))
        assert (report.verdict, report.scope.kind) == ("safe", "all"), report.scope.reason

    def test_who_has_exited_is_not_waited_for(self):
        report = verify(self.two((cluster_sync(), cluster_sync()), (cluster_sync(),)))
        assert report.verdict == "safe" and [f.code for f in report.findings] == ["WD208"]  # a warning
        assert [f.code for f in verify(self.two((cluster_sync(),), ())).errors] == ["WD208"]  # never executed

    def test_an_exit_releases_nothing(self):
        fill, remote = work("x", "fill"), replace(work("x", "read"), ctas="peer")
        report = verify(self.two((fill,), (cluster_sync(), remote, cluster_sync())))
        assert "WD208" in codes(report) and any(
            "releases nothing" in n for f in report.errors for n in f.notes
        )


@pytest.mark.parametrize("make", [shared_ring, pair, handshake])
def test_the_timeline_of_a_cluster_comes_to_its_end(make):
    timeline = simulate(make())
    assert timeline.ended and not timeline.blocked
    names = [lane.name for lane in timeline.lanes]
    assert any("@1" in name for name in names)
    assert ("TMA@1" in names) == ("TMA" in names)
