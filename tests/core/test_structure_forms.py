"""Rules on structure in unusual forms: blocks that exclude each other, one CTA of a cluster, values from elsewhere."""

from dataclasses import replace

import pytest

from warpdraft.core.document import (
    Document,
    Edge,
    Footprint,
    GuardKind,
    Mbarrier,
    OpKind,
    Signal,
    Work,
)
from warpdraft.core.expressions import LoopVariable, Symbol
from warpdraft.core.findings import Severity
from warpdraft.core.hazards.examples import (
    MMA,
    accumulator,
    acquire,
    buffer,
    channel,
    commit,
    document,
    elect,
    group_commit,
    group_wait,
    guard,
    loop,
    mbar_arrive,
    mbar_wait,
    op,
    queue,
    release,
    ring,
    task,
    tensor,
    tiles,
    wait,
    wait_ld,
    work,
)
from warpdraft.core.store import DocumentError, dumps, loads
from warpdraft.core.verify import verify

ADVANCE = work("queue", "get_and_advance_work_tile")
FILL = loop(acquire("x"), work("x", "fill"), commit("x"))
USE = loop(wait("x"), work("x", "read"), release("x"))
N, P = Symbol("n"), Symbol("p", 1)


def errors(found: Document) -> list[str]:
    return [f.code for f in verify(found).errors]


def safe(found: Document) -> bool:
    report = verify(found)
    assert not report.findings, [(f.code, f.message) for f in report.findings]
    return report.verdict == "safe"


def on_tiles(*body):
    return tiles(*body, ADVANCE)


def in_cta(cta, *body):
    return guard(GuardKind.CTA_RANK, *body, cta=cta)


def when(outcome, *body):
    return guard(GuardKind.WHEN_TRUE if outcome else GuardKind.WHEN_FALSE, *body, key="c")


# -- WD107: loops that exclude each other are not two in a row ----
def two_loops(first, second, make, use=None, **fields):
    load = task("load", 0, 1, first(make()), second(make()))
    resources = channel("x"), queue()
    return document("two loops", load, task("use", 4, 1, use), resources=resources, graph=(), **fields)


BLOCKS = {
    "one after the other": (lambda n: n, lambda n: n),
    "branches": (lambda n: when(True, n), lambda n: when(False, n)),
    "one branch": (lambda n: when(True, n), lambda n: when(True, n)),
    "CTAs": (lambda n: in_cta(0, n), lambda n: in_cta(1, n)),
    "one CTA": (lambda n: in_cta(1, n), lambda n: in_cta(1, n)),
}


@pytest.mark.parametrize("how", BLOCKS)
@pytest.mark.parametrize("kind", ["tile", "domain"])
def test_loops_in_a_row(how, kind):
    """Two tile loops of a task are an error, two domain loops advice; where only one of them runs there is one."""
    first, second = BLOCKS[how]
    make, use = (lambda: FILL, USE) if kind == "domain" else (lambda: on_tiles(FILL), on_tiles(USE))
    found = two_loops(first, second, make, use, cluster=(2, 1, 1) if "CTA" in how else (1, 1, 1))
    loops = [f for f in verify(found).findings if f.code == "WD107"]
    if how in ("branches", "CTAs"):
        assert safe(found)
    elif kind == "tile":
        assert loops[0].severity is Severity.ERROR and len(loops[0].ops) == 2
    else:
        assert [f.severity for f in loops] == [Severity.ADVICE]


def test_a_tile_loop_inside_another_is_one_too_many():
    found = document("nested", task("t", 0, 1, on_tiles(on_tiles())), resources=(queue(),), graph=())
    assert "WD107" in errors(found)


# -- WD107: bounds that depend on a loop ----
@pytest.mark.parametrize("bound", ["start", "stop", "step"])
@pytest.mark.parametrize("name", ["i", "k", "elsewhere"])
def test_a_bound_that_depends_on_a_loop_variable(bound, name):
    bounds = {"stop": P, bound: LoopVariable(name) + 1}
    found = document(
        "triangular",
        task("load", 0, 1, loop(replace(FILL, **bounds), stop=N, var="i")),
        task("use", 4, 1, loop(replace(USE, **bounds), stop=N, var="i")),
        resources=(channel("x"),),
        symbols=(N, P),
    )
    rows = verify(found).errors
    assert [f.code for f in rows] == ["WD107"] * 2 and f"{bound} of loop load.01" in rows[0].message
    with pytest.raises(DocumentError, match=f"{bound}.*not of a loop variable"):
        loads(dumps(found))


# -- WD109: written parities ----
@pytest.mark.parametrize("kind", [OpKind.MBARRIER_WAIT, OpKind.MBARRIER_TRY_WAIT])
@pytest.mark.parametrize("parity", [-1, 0, 1, 2, 3])
def test_a_parity_is_one_bit(parity, kind):
    arrive = mbar_arrive("m")
    look = op(kind, "m", count=parity)
    waits = (mbar_wait("m", parity=0), arrive, mbar_wait("m", parity=1))
    found = document(
        "parity", task("t", 0, 1, arrive, *waits, look), mbarriers=(Mbarrier("m", 1),), symbols=()
    )
    assert ("WD109" in errors(found)) == (parity not in (0, 1))


@pytest.mark.parametrize(("warp", "wrong"), [(0, False), (1, False), (3, True)])
def test_an_elected_warp_has_a_range(warp, wrong):
    part = Work("fill", "producer", footprint=Footprint("ranges", ranges=((0, 512), (512, 512))))
    fill = (acquire("x"), elect(work("x", "fill"), warp=warp), commit("x"))
    x = channel("x")
    found = document(
        "ranges",
        task("load", 0, 4, loop(*fill)),
        task("use", 4, 1, USE),
        resources=(replace(x, works=(part, *x.works[1:])),),
    )
    assert ("WD109" in errors(found)) == wrong


# -- WD101 and WD103: an undeclared use is one mistake ----
@pytest.mark.parametrize("declared", [True, False])
def test_an_edge_that_an_undeclared_use_backs(declared):
    mma = (work("ab", "tile", result="t"), work("acc", "mma", tile="t"), group_commit("mma_group"))
    found = document(
        "undeclared source",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task(
            "math",
            4,
            4,
            loop(wait("ab"), *mma, group_wait("mma_group"), release("ab")),
            src=("ab",) if declared else (),
            dst=("acc",),
        ),
        resources=(ring(), accumulator()),
        groups=(MMA,),
        graph=(("ab", "acc"),),
    )
    assert errors(found) == ([] if declared else ["WD101"])
    assert "WD103" in errors(replace(found, graph=(*found.graph, Edge("acc", "ab"))))


# -- WD110 ----
@pytest.mark.parametrize("returned", [(True,), (False,), (True, False)])
def test_a_view_that_one_branch_returns(returned):
    """Where the other ran, the view is that of an earlier stage: what then goes wrong follows from it."""
    views = [when(outcome, work("ab", "tile", result="t")) for outcome in returned]
    mma = (work("acc", "mma", tile="t"), group_commit("mma_group"), group_wait("mma_group"))
    found = document(
        "a branch",
        task("load", 0, 1, loop(acquire("ab"), work("ab", "load"), commit("ab"))),
        task("math", 4, 4, loop(wait("ab"), *views, *mma, release("ab"))),
        resources=(ring(), accumulator()),
        groups=(MMA,),
    )
    if len(returned) == 2:
        assert safe(found)
    else:
        assert errors(found) == ["WD110"]
        assert any("left out here: WD106" in note for note in verify(found).errors[0].notes)


# -- WD113 ----
@pytest.mark.parametrize(
    ("third", "bad"),
    [
        ((), False),
        ((op(OpKind.REGISTERS_DECREASE, count=40),), False),
        ((on_tiles(work("s", "fill")),), False),
        ((work("s", "fill"),), True),
        ((loop(work("s", "fill")),), True),
    ],
)
def test_who_uses_nothing_may_end_at_once(third, bad):
    found = document(
        "a third task",
        task("load", 0, 1, on_tiles(FILL)),
        task("use", 4, 4, on_tiles(USE)),
        task("third", 8, 4, *third),
        resources=(channel("x"), queue(), buffer("s")),
        graph=(),
    )
    rows = [f for f in verify(found).findings if f.code == "WD113"]
    assert bool(rows) == bad
    assert not bad or rows[0].message == "third works on one tile, the other tasks on many"


@pytest.mark.parametrize("same", [True, False])
def test_each_cta_is_looked_at_by_itself(same):
    one = (in_cta(0, on_tiles(FILL)), in_cta(1, FILL))
    two = (in_cta(0, on_tiles(USE)), in_cta(1, USE)) if same else (on_tiles(USE),)
    found = document(
        "tiles in CTA 0",
        task("load", 0, 1, *one),
        task("use", 4, 1, *two),
        resources=(channel("x"), queue()),
        graph=(),
        cluster=(2, 1, 1),
    )
    assert safe(found) if same else "WD113" in errors(found)


# -- WD115 ----
def handed_back(consumer, called="read"):
    x = replace(channel("x"), works=(Work("fill", "producer"), Work("read", "consumer"), consumer))
    body = acquire("x"), work("x", "fill"), commit("x"), wait("x"), work("x", called), release("x")
    return document("back", task("t", 0, 4, loop(*body)), resources=(x,), graph=(("x", "x"),))


def test_only_reads_that_a_task_calls_must_end_with_their_op():
    late = Work("late", "consumer", "wgmma")
    assert safe(handed_back(late)) and "WD115" in errors(handed_back(late, called="late"))
    assert safe(handed_back(replace(late, auxiliary=True), called="read"))


@pytest.mark.parametrize("waits", [True, False])
def test_a_tile_of_tensor_memory_that_goes_back_and_forth(waits):
    """Warps store a tile and load it again: a load ends with its tcgen05.wait, which another rule asks for."""
    works = Work("store", "producer", "tcgen05_st"), Work("load", "consumer", "tcgen05_ld")
    x = tensor("x", 2)
    x = replace(x, pipeline=replace(x.pipeline, type="AsyncAsync", producer_signal=Signal.WARP), works=works)
    stored = op(OpKind.TCGEN05_WAIT_ST)
    body = [acquire("x"), work("x", "store"), stored, commit("x"), wait("x"), work("x", "load"), wait_ld()]
    body = [*(n for n in body if waits or n.kind is not OpKind.TCGEN05_WAIT_LD), release("x")]
    found = document(
        "s and p", task("t", 0, 4, loop(*body)), resources=(x,), graph=(("x", "x"),), target="sm_100a"
    )
    rows = verify(found).errors
    assert "WD115" not in {f.code for f in rows} and bool(rows) == (not waits)
