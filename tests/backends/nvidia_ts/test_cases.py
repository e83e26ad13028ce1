"""The cases that Task Scheduling judges wrongly, written with it and imported: our verdict is the true one."""

import pytest

from warpdraft.backends.nvidia_ts.annotations import loads_annotations
from warpdraft.backends.nvidia_ts.apply import apply_annotations
from warpdraft.backends.nvidia_ts.opinion import difference
from warpdraft.core import verify

pytestmark = [pytest.mark.xdist_group("nvidia_ts")]
UNSAFE = {  # what must be found
    "p01": {"WD401"},
    "p02": {"WD105"},
    "p02_tma": {"WD105", "WD207"},
    "p03": {"WD105", "WD205"},
    "p04": {"WD105", "WD401"},
    "p06": {"WD301"},
    "p07": {"WD302"},
    "p08": {"WD302"},
    "p09": {"WD402"},
    "p11": {"WD302"},
    "p14": {"WD402"},
    "p15": {"WD114", "WD302"},
    "p17": {"WD401"},
    "p18": {"WD501"},
    "p19": {"WD301"},  # two tasks on one warp run one after the other: the first never ends
    "p21": {"WD218"},  # the schedule alone would end; the run time's producer_tail does not
    "p23": {"WD402"},
    "p24": {"WD402"},  # no object tells of the named barrier
    "p26": {"WD603"},
}
REJECTED = ("p14", "p21", "p22", "p24", "p28")  # by Task Scheduling


MEMORY = ("p01", "p09", "p14", "p17", "p18", "p22", "p23", "p24", "p28")


def case(built, name):
    return built("cases_memory" if name in MEMORY else "cases", name)


def codes(report):
    return {f.code for f in report.errors}


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe(built, name):
    found = case(built, name)
    report = verify(found.documents[0])
    assert codes(report) >= UNSAFE[name]
    assert (found.opinions[0].verdict == "rejected") is (name in REJECTED)
    symbols = tuple(s.name for s in found.documents[0].symbols)
    assert bool(difference(report, found.opinions[0], symbols)) is (name not in REJECTED)


@pytest.mark.parametrize("name", ["p08_same", "p22", "p28"])
def test_safe_as_far_as_the_objects_tell(built, name):
    report = verify(case(built, name).documents[0])
    assert report.verdict == "safe" and report.scope.defaults


def test_trip_counts_that_are_safe(built):
    for name, counts in (("p06", [0, 1]), ("p07", [1, 2, 5])):
        document = case(built, name).documents[0]
        assert verify(document, trip_counts={"Sized_get_domain": counts}).verdict == "safe", name


def annotated(built, name, text, script="cases_memory"):
    found = loads_annotations(f"warpdraft-annotations = 1\n{text}")
    return apply_annotations(built(script, *([name] if name else [])).documents[0], found)


SLICES = '[works."scratch.fill"]\nwrites = [{ offset = "warp * 256", bytes = 256 }]\n'
NEIGHBOURS = '[works."scratch.read"]\nreads = [{ offset = "(warp + 1) % warps * 256", bytes = 256 }]\n'


def test_p17_slices_and_neighbours(built):
    unmet = annotated(built, "p17", SLICES + NEIGHBOURS)
    assert codes(verify(unmet)) == {"WD401"}
    own = annotated(built, "p17", SLICES + SLICES.replace("fill", "read").replace("writes", "reads"))
    assert verify(own).verdict == "safe"
    meet = "[barriers.meet]\nid = 1\nthreads = 128\n"
    sync = 'sync = [{ op = "barrier_sync", barrier = "meet" }]\n'
    met = verify(annotated(built, "p17", meet + SLICES + sync + NEIGHBOURS))
    assert met.verdict == "safe" and set(met.scope.defaults) == {"state.decide"}


def test_p24_a_barrier_between_the_uses(built):
    text = '[barriers.meet]\nid = 1\nthreads = 64\n[works."x.read"]\nsync = [{ op = "barrier_sync", barrier = "meet" }]\n'
    before = '[works."y.scribble"]\nsync = [{ op = "barrier_sync", barrier = "meet", at = "before" }]\n'
    assert verify(annotated(built, "p24", text + before)).verdict == "safe"
    assert verify(annotated(built, "p24", text)).verdict == "unsafe"


def test_p28_a_store_that_is_not_waited_for(built):
    store = (
        '[works."out.store"]\nengine = "bulk_store"\nreads = [{ resource = "x" }]\n'
        'sync = [{ op = "group_commit", group = "bulk_store" }'
    )
    fenced = '[works."x.scribble"]\nsync = [{ op = "fence_proxy_async" }]\n'
    races = annotated(built, "p28", fenced + store + "]\n")
    assert "WD402" in codes(verify(races))
    assert verify(races, trip_counts={"Sized_get_domain": [0, 1]}).verdict == "safe"
    waits = annotated(built, "p28", fenced + store + ', { op = "group_wait_read", group = "bulk_store" }]\n')
    assert verify(waits).verdict == "safe"


STORE = (
    '[works."staging.fill"]\nsync = [{ op = "fence_proxy_async" }]\n'
    '[works."out.bulk_store"]\nengine = "bulk_store"\nreads = [{ resource = "staging" }]\n'
    'sync = [{ op = "group_commit", group = "bulk_store" }]\n'
)


def test_a_bulk_store_that_is_not_waited_for_is_found_once_it_is_annotated(built):
    assert verify(built("bulk_store").documents[0]).verdict == "safe"  # assuming defaults
    report = verify(annotated(built, "", STORE, "bulk_store"))
    assert report.verdict == "unsafe" and {"WD403", "WD402"} & codes(report), codes(report)
    text = STORE.replace("out.bulk_store", "out.bulk_store_and_wait").replace(
        'bulk_store" }]\n', 'bulk_store" }, { op = "group_wait_read", group = "bulk_store" }]\n'
    )
    assert verify(annotated(built, "waits", text, "bulk_store")).verdict == "safe"
