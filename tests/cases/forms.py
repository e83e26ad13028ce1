"""Every case of the field as rows of one table: its wrong forms with the rule that each breaks, and its right ones.

A row's schedule is that of the case's own tests, or stands in one of the other files of forms. ``SAFE`` rows are accepted
without a finding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import forms_of_pairs as pairs
import more_forms as more
from forms_of_loops import LOOPS
from forms_of_memory import MEMORY
from forms_of_variants import VARIANTS
from kit import K, channel, ring, tests_of

from warpdraft.core import (
    Document,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    fence_mbarrier_init,
    symbol,
    tcgen05_wait_ld,
    tcgen05_wait_st,
)

arrivals = tests_of("arrivals")
clusters = tests_of("clusters")
fences = tests_of("fences")
grids = tests_of("grids")
phases = tests_of("phases")
raw_trips = tests_of("trips_of_ctas")
registers = tests_of("registers")
reuse = tests_of("reuse")
stages = tests_of("run_time_stages")
schedulers = tests_of("schedulers")
structure = tests_of("structure")
ts = tests_of("task_scheduling")
memory = tests_of("task_scheduling_memory")
tensor = tests_of("tensor_core")
lifetime = tests_of("tensor_lifetime")
tiles = tests_of("tiles")
SAFE = "safe"
IDS = (
    "C01 C02 C03 C05 C06 C07 C09 C10 C11 C13 C14 C16 C17 C18 C20 C21 C22 C24 C25 C27 C28 C29 C30 C32 C33 C35 C36 C37 C39 "
    "C40 C41 C43 C45 C46 C48 C49 C50 C52 C53 C55 C56 C57 C58 C59 N1 N3 P01 P02 P03 P04 P06 P07 P08 P09 P11 P12 P14 P15 P17 "
    "P18 P19 P21 P22 P23 P24 P26 P28"
).split()
RIGHT = ("N1", "N3", "P12", "P21", "P22", "P24")  # look wrong and are right
n = symbol("n", min=1)


class Form(NamedTuple):
    """One schedule of a case. ``expected``: the code that must be among its errors, or ``SAFE``; ``proved``: for all trip
    counts. ``lanes``: looked at with strict lanes; ``trips``: at these trip counts alone."""

    case: str
    name: str
    expected: str
    build: Callable[[], Document]
    proved: bool = True
    lanes: bool = False
    trips: tuple[tuple[str, tuple[int, ...]], ...] = ()


C = (
    Form("C01", "counts in threads", "WD201", lambda: arrivals.gemm(32, 128)),
    Form("C01", "two groups, one counted", "WD201", lambda: arrivals.gemm(1, 4, groups=2)),
    Form("C01", "two groups, empty = 1", "WD201", lambda: arrivals.gemm(1, 1, groups=2)),
    Form("C01", "each warp counted", SAFE, lambda: arrivals.gemm(1, 4)),
    Form("C01", "two groups counted", SAFE, lambda: arrivals.gemm(1, 8, groups=2)),
    Form("C01", "derived", SAFE, lambda: arrivals.gemm(groups=2)),
    Form("C02", "no consumer signals", "WD302", lambda: arrivals.TestC02.schedule(False)),
    Form("C02", "a consumer signals", SAFE, lambda: arrivals.TestC02.schedule(True)),
    Form("C02", "four warps load, none signals", "WD302", lambda: arrivals.TestC02.schedule(False, 4)),
    Form("C02", "four warps load", SAFE, lambda: arrivals.TestC02.schedule(True, 4)),
    Form("C03", "one lane, implied", "WD213", lambda: arrivals.TestC03().schedule(), lanes=True),
    Form("C03", "one lane, elected", "WD213", lambda: more.elected_lane(False)),
    Form("C03", "one lane, after sync_warp", SAFE, lambda: more.elected_lane(True), lanes=True),
    Form("C03", "each lane arrives", SAFE, more.every_lane, lanes=True),
    Form("C05", "384 threads, 128 come", "WD208", lambda: arrivals.TestC05.schedule(384)),
    Form("C05", "128 threads", SAFE, lambda: arrivals.TestC05.schedule(128)),
    Form("C06", "the other is alive", "WD208", lambda: arrivals.TestC06.schedule(False, waits=True)),
    Form("C06", "one partition leaves", "WD208", lambda: arrivals.TestC06.schedule(False)),
    Form("C06", "all come", SAFE, lambda: arrivals.TestC06.schedule(True)),
    Form("C07", "16 counted, 8 come", "WD301", lambda: clusters.TestC07.schedule(16, remote=False)),
    Form("C07", "8 counted, at home", "WD401", lambda: clusters.TestC07.schedule(8, remote=False)),
    Form("C07", "pipeline, 8 counted", "WD201", lambda: clusters.TestC07.pipeline(8)),
    Form("C07", "16 come to the issuer", SAFE, lambda: clusters.TestC07.schedule(16, remote=True)),
    Form("C07", "pipeline, 16 counted", SAFE, lambda: clusters.TestC07.pipeline(16)),
    Form("C09", "full = 0", "WD202", lambda: arrivals.gemm(full=0)),
    Form("C09", "empty = 0", "WD202", lambda: arrivals.gemm(empty=0)),
    Form("C09", "derived", SAFE, arrivals.gemm),
    Form("C10", "half of the bytes", "WD203", lambda: arrivals.TestC10.schedule(1024)),
    Form("C10", "twice the bytes", "WD203", lambda: arrivals.TestC10.schedule(4096)),
    Form("C10", "the bytes that come", SAFE, lambda: arrivals.TestC10.schedule(2048)),
    Form("C11", "bytes of one CTA", "WD203", lambda: clusters.TestC11.schedule(1024)),
    Form("C11", "bytes of four", "WD203", lambda: clusters.TestC11.schedule(4096)),
    Form("C11", "bytes of the pair", SAFE, lambda: clusters.TestC11.schedule(2048)),
    Form("C13", "no flip in the tail", "WD204", lambda: phases.TestC13.schedule(False)),
    Form("C13", "parity of S - 1 flips", "WD204", lambda: more.flips(1)),
    Form("C13", "one tile", SAFE, lambda: phases.TestC13.schedule(False, tiles=1)),
    Form("C13", "a flip for every wait", SAFE, lambda: more.flips(0)),
    Form("C13", "pipeline, tail kept", "WD302", lambda: tiles.TestC13.schedule(False)),
    Form("C13", "pipeline, tail released", SAFE, lambda: tiles.TestC13.schedule(True)),
    Form("C14", "parity starts again", "WD204", lambda: stages.TestC14().schedule(4, 2, carried=False)),
    Form("C14", "for any K", "WD204", lambda: stages.TestC14().schedule(K, 2, carried=False)),
    Form("C14", "K = 6", SAFE, lambda: stages.TestC14().schedule(6, symbol("tiles"), carried=False)),
    Form("C14", "one tile", SAFE, lambda: stages.TestC14().schedule(K, 1, carried=False)),
    Form("C14", "carried over", SAFE, lambda: stages.TestC14().schedule(4, symbol("tiles"), carried=True)),
    Form("C14", "carried over, any K", SAFE, more.carried),
    Form("C16", "flips on empty tiles", "WD302", lambda: tiles.TestC16.schedule(True)),
    Form("C16", "a flip for each phase", SAFE, lambda: tiles.TestC16.schedule(False)),
    Form("C17", "the gate laps", "WD205", lambda: tiles.TestC17.schedule(False)),
    Form("C17", "the gate is paired", SAFE, lambda: tiles.TestC17.schedule(True)),
    Form("C18", "the leader alone", "WD205", lambda: phases.TestC18.schedule(4, meet=False)),
    Form("C18", "one warp", SAFE, lambda: phases.TestC18.schedule(1, meet=False)),
    Form("C18", "after a barrier", SAFE, lambda: phases.TestC18.schedule(4, meet=True)),
    Form("C20", "full without empty", "WD205", lambda: clusters.TestC20.schedule(False)),
    Form("C20", "written parity", "WD205", lambda: more.published(False)),
    Form("C20", "consumed", SAFE, lambda: clusters.TestC20.schedule(True)),
    Form("C20", "written parity, consumed", SAFE, lambda: more.published(True)),
    Form("C21", "two inits at an address", "WD211", lambda: fences.TestC21.schedule(False)),
    Form("C21", "inval between", SAFE, lambda: fences.TestC21.schedule(True)),
    Form("C22", "no group wait", "WD403", lambda: reuse.TestC22.schedule(None, lag=False)),
    Form("C22", "wait(1), this stage", "WD403", lambda: reuse.TestC22.schedule(1, lag=False)),
    Form("C22", "wait(0)", SAFE, lambda: reuse.TestC22.schedule(0, lag=False)),
    Form("C22", "wait(1), the last stage", SAFE, lambda: reuse.TestC22.schedule(1, lag=True)),
    Form("C22", "first step peeled", SAFE, more.peeled),
    Form("C22", "in each tile", SAFE, lambda: more.peeled(symbol("tiles"))),
    Form("C24", "no wait::ld", "WD502", lambda: tensor.TestC24.schedule()),
    Form("C24", "wait::ld", SAFE, lambda: tensor.TestC24.schedule(tcgen05_wait_ld)),
    Form("C24", "a store's wait drains", SAFE, lambda: tensor.TestC24.schedule(tcgen05_wait_st, store=True)),
    Form("C25", "loads in flight", "WD406", lambda: lifetime.TestC25.schedule(False)),
    Form("C25", "loads waited for", SAFE, lambda: lifetime.TestC25.schedule(True)),
    Form("C27", "K = 6", "WD402", lambda: stages.TestC27().schedule(6)),
    Form("C27", "K = 8", SAFE, lambda: stages.TestC27().schedule(8)),
    Form("C27", "at the start", SAFE, lambda: stages.TestC27().schedule(6, symbol("tasks"), at_start=True)),
    Form("C28", "no barrier before a refill", "WD401", lambda: reuse.TestC28.schedule(False)),
    Form("C28", "a barrier before each", SAFE, lambda: reuse.TestC28.schedule(True)),
    Form("C29", "no barrier before", "WD402", lambda: reuse.TestC29.schedule(False)),
    Form("C29", "a barrier before", SAFE, lambda: reuse.TestC29.schedule(True)),
    Form("C30", "no barrier back", "WD401", lambda: reuse.TestC30.schedule(False)),
    Form("C30", "one iteration", SAFE, lambda: reuse.TestC30.schedule(False), False, trips=(("k", (0, 1)),)),
    Form("C30", "a barrier back", SAFE, lambda: reuse.TestC30.schedule(True)),
    Form("C32", "other columns", "WD402", lambda: tensor_map(other=True)),
    Form("C32", "the same columns", SAFE, lambda: tensor_map(other=False)),
    Form("C32", "a barrier between", SAFE, lambda: tensor_map(other=True, meet=True)),
    Form("C33", "copies in flight", "WD405", lambda: lifetime.TestC33.schedule(False)),
    Form("C33", "drained", SAFE, lambda: more.grouped(True)),
    Form("C35", "no edge to the sibling", "WD402", lambda: tensor.TestC35.schedule(False)),
    Form("C35", "the MMA waits", SAFE, lambda: tensor.TestC35.schedule(True)),
    Form("C36", "no fence", "WD501", lambda: fences.TestC36.schedule(None)),
    Form("C36", "the issuer fences", "WD501", lambda: fences.TestC36.schedule("issuer")),
    Form("C36", "writers fence", SAFE, lambda: fences.TestC36.schedule("writers")),
    Form("C37", "fence in the loop", "WD504", lambda: fences.TestC37.schedule(False)),
    Form("C37", "fence behind it", SAFE, lambda: fences.TestC37.schedule(True)),
    Form("C39", "no fence", "WD501", lambda: fences.TestC39.schedule(False)),
    Form("C39", "on one branch", "WD501", lambda: more.fenced_where(True)),
    Form("C39", "a fence", SAFE, lambda: fences.TestC39.schedule(True)),
    Form("C39", "on both branches", SAFE, lambda: more.fenced_where(True, False)),
    Form("C40", "no wait::st", "WD502", lambda: tensor.TestC40.schedule(False)),
    Form("C40", "wait::st", SAFE, lambda: tensor.TestC40.schedule(True)),
    Form("C41", "no barrier", "WD211", lambda: fences.TestC41.schedule(meet=False)),
    Form("C41", "no cluster barrier", "WD211", lambda: clusters.TestC41.schedule(fence_mbarrier_init)),
    Form("C41", "published", SAFE, fences.TestC41.schedule),
    Form("C41", "cluster", SAFE, lambda: clusters.TestC41.schedule(fence_mbarrier_init, cluster_sync)),
    Form("C43", "read, then copied over", "WD501", lambda: more.flagged(False)),
    Form("C43", "a fence between", SAFE, lambda: more.flagged(True)),
    Form("C45", "no barrier, no block", "WD406", lambda: lifetime.TestC45.schedule(False)),
    Form("C45", "a barrier", SAFE, lambda: lifetime.TestC45.schedule(True)),
    Form("C46", "the loader does not skip", "WD114", lambda: structure.TestC46.schedule(False)),
    Form("C46", "all skip", SAFE, lambda: structure.TestC46.schedule(True)),
    Form("C48", "another task drains", "WD218", lambda: tiles.TestC48.schedule("other")),
    Form("C48", "a stage is kept", "WD218", lambda: clusters.TestC48.schedule(False)),
    Form("C48", "the owner drains", SAFE, lambda: clusters.TestC48.schedule(True)),
    Form("C49", "a peer has left", "WD703", lambda: clusters.TestC49.schedule()),
    Form("C49", "arrive without wait", "WD703", lambda: clusters.TestC49.schedule(cluster_arrive)),
    Form("C49", "they meet", SAFE, lambda: clusters.TestC49.schedule(cluster_sync)),
    Form("C49", "arrive and wait", SAFE, lambda: clusters.TestC49.schedule(cluster_arrive, cluster_wait)),
    Form("C50", "no rendezvous", "WD406", lambda: lifetime.TestC50.schedule()),
    Form("C50", "the pair meets", SAFE, more.paired_allocation),
    Form(
        "C52", "a count for each CTA", "WD704", lambda: clusters.TestC52.schedule(symbol("g", per_cta=True))
    ),
    Form("C52", "6 and 4 trips", "WD704", lambda: more.trips_of_ctas(6, 4)),
    Form("C52", "one count", SAFE, lambda: clusters.TestC52.schedule(K)),
    Form("C52", "6 and 6 trips", SAFE, lambda: more.trips_of_ctas(6, 6)),
    Form("C52", "6 and 4, raw mbarriers", "WD704", lambda: raw_trips.both_issue((6, 4))),
    Form("C52", "6 and 6, raw mbarriers", SAFE, lambda: raw_trips.both_issue((6, 6))),
    Form("C52", "3 and 2, one CTA copies", "WD704", lambda: raw_trips.one_issues((3, 2))),
    Form("C53", "no wait", "WD702", lambda: grids.TestC53.schedule(False)),
    Form("C53", "late", "WD702", lambda: grids.TestC53.schedule(True, where="late")),
    Form("C53", "first of all", SAFE, lambda: more.fetched(waits=True)),
    Form("C53", "the other task waits", "WD702", lambda: more.fetched(waits=False)),
    Form("C55", "the next does not wait", "WD701", lambda: grids.TestC55.schedule(False)),
    Form("C55", "all have stored", SAFE, lambda: grids.TestC55.schedule(False, meet=True)),
    Form("C55", "the next waits", SAFE, lambda: grids.TestC55.schedule(True)),
    Form("C56", "after a failure", "WD705", lambda: schedulers.schedule(schedulers.queue(2), after=1)),
    Form("C56", "advanced in the loop", "WD111", lambda: more.advanced(inside=True)),
    Form("C56", "one request a tile", SAFE, lambda: schedulers.schedule(schedulers.queue(2))),
    Form("C56", "advanced in the tail", SAFE, lambda: more.advanced(inside=False)),
    Form("C57", "24 + 3 x 240", "WD603", lambda: structure.TestC57.schedule(24, 240, 3)),
    Form("C57", "no decrease", "WD303", lambda: structure.TestC57.schedule(None, 176, 2)),
    Form("C57", "24 + 2 x 240", SAFE, lambda: structure.TestC57.schedule(24, 240, 2)),
    Form("C57", "in the schedule, 40 + 2 x 240", "WD303", lambda: registers.ring_roles(less=40)),
    Form(
        "C57", "in the schedule, once a stage is free again", "WD303", lambda: registers.ring_roles("second")
    ),
    Form("C57", "in the schedule, 24 + 2 x 240", SAFE, registers.ring_roles),
    Form("C57", "in the schedule, at the end", SAFE, lambda: registers.ring_roles("last", "last")),
    Form("C58", "id 17", "WD209", lambda: structure.TestC58.schedule(17, 1)),
    Form("C58", "one id, two cohorts", "WD209", lambda: structure.TestC58.schedule(1, 1)),
    Form("C58", "an id each", SAFE, lambda: structure.TestC58.schedule(1, 2)),
    Form("C59", "1179648 B", "WD601", lambda: more.stored(1048576, 131072)),
    Form("C59", "576 columns", "WD602", lambda: more.columns(256, 256, 64)),
    Form("C59", "232448 B", SAFE, lambda: more.stored(232448)),
    Form("C59", "512 columns", SAFE, lambda: more.columns(256, 256)),
    Form("N1", "once, 256 threads", SAFE, lambda: arrivals.TestN1.schedule(256)),
    Form("N1", "once, 128 threads", "WD208", lambda: arrivals.TestN1.schedule(128)),
    Form("N1", "in a loop, one way", "WD206", lambda: pairs.handed(back=False)),
    Form("N1", "in a loop, and back", SAFE, lambda: pairs.handed(back=True)),
    Form("N3", "opposite parities", SAFE, stages.TestN3.schedule),
    Form("N3", "one parity twice", "WD204", lambda: stages.TestN3.schedule(opposite=False)),
)
P = (
    Form("P01", "no barrier", "WD401", lambda: pairs.shared(False)),
    Form("P01", "a barrier", SAFE, lambda: pairs.shared(True)),
    Form("P02", "threads", "WD105", lambda: ts.TestP02.schedule(channel("x", 2))),
    Form("P02", "copies", "WD207", lambda: ts.TestP02.schedule(ring("x", 2))),
    Form("P02", "one by one", SAFE, lambda: pairs.doubled("wait read release wait read release")),
    Form("P03", "one cursor", "WD105", lambda: pairs.doubled("wait wait read read release release")),
    Form("P03", "two cursors", SAFE, lambda: pairs.doubled("wait read wait read release release", True)),
    Form("P04", "peek in the first", "WD105", lambda: ts.TestP04.schedule(False)),
    Form("P04", "peek in each", SAFE, lambda: ts.TestP04.schedule(True)),
    Form("P06", "released in the last", "WD301", ts.TestP06.schedule),
    Form("P06", "one iteration", SAFE, ts.TestP06.schedule, False, trips=(("k", (0, 1)),)),
    Form("P07", "committed in the last", "WD302", ts.TestP07.schedule),
    Form("P07", "some iteration", SAFE, ts.TestP07.schedule, False, trips=(("k", (1, 2, 7)),)),
    Form("P08", "two counts", "WD302", lambda: pairs.passed(symbol("n_p"), symbol("n_c"))),
    Form("P08", "one count", SAFE, lambda: pairs.passed(symbol("n"), symbol("n"))),
    Form("P09", "shared bytes", "WD402", lambda: ts.TestP09.schedule(True)),
    Form("P09", "bytes of their own", SAFE, lambda: ts.TestP09.schedule(False)),
    Form("P11", "6 and 2 of 4", "WD302", lambda: pairs.passed(4, 6, 2)),
    Form("P11", "4 and 4 of 4", SAFE, lambda: pairs.passed(4, 4, 4)),
    *(
        Form("P12", f"N = {trips}, S = {s}", SAFE, lambda trips=trips, s=s: ts.TestP12.schedule(trips, s))
        for trips, s in ((3, 1), (4, 1), (8, 2), (8, 3), (K, 1), (K, 2), (K, 3))
    ),
    Form("P14", "not ordered", "WD402", lambda: memory.TestP14.schedule(False)),
    Form("P14", "ordered", SAFE, lambda: memory.TestP14.schedule(True)),
    Form("P15", "a and b", "WD114", lambda: more.skipping("a", "b")),
    Form("P15", "a and a", SAFE, lambda: more.skipping("a", "a")),
    Form("P17", "no barrier", "WD401", lambda: memory.TestP17().schedule(False)),
    Form("P17", "a barrier", SAFE, lambda: memory.TestP17().schedule(True)),
    Form("P18", "no fence", "WD501", lambda: fences.TestP18.schedule(False)),
    Form("P18", "a fence", SAFE, lambda: fences.TestP18.schedule(True)),
    Form("P19", "on the same warps", "WD112", lambda: pairs.passed(K, K, first=0)),
    Form("P19", "on others", SAFE, lambda: pairs.passed(K, K, first=1)),
    Form("P21", "last release left out", SAFE, lambda: pairs.unreleased(4)),
    Form("P21", "for any N", SAFE, lambda: pairs.unreleased(n)),
    Form("P22", "two views", SAFE, pairs.viewed),
    Form("P23", "overwritten", "WD402", lambda: memory.TestP23.schedule(False)),
    Form("P23", "waited for", SAFE, lambda: memory.TestP23.schedule(True)),
    Form("P24", "a barrier", SAFE, lambda: pairs.overlaid(True)),
    Form("P24", "no barrier", "WD402", lambda: pairs.overlaid(False)),
    Form("P26", "8", "WD603", lambda: structure.TestC57.schedule(8, None, 1)),
    Form("P26", "16", "WD603", lambda: structure.TestC57.schedule(16, None, 1)),
    Form("P26", "24", SAFE, lambda: structure.TestC57.schedule(24, None, 1)),
    Form("P28", "two iterations", "WD402", memory.TestP28.schedule),
    Form("P28", "at most one", SAFE, memory.TestP28.schedule, False, trips=(("end", (0, 1, 2)),)),
)
FORMS = C + P + tuple(Form(*row) for row in (*VARIANTS, *LOOPS, *MEMORY))


def tensor_map(other: bool, meet: bool = False) -> Document:
    """Warps that load one half of the columns, and store the same or the other one."""
    case = tensor.TestC32
    return case.schedule((case.HALVES, case.OTHER if other else case.SAME), meet=meet)
