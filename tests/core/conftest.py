"""Random documents for round trips."""

import dataclasses
import itertools
import keyword

import pytest
from hypothesis import strategies as st

from warpdraft.core import document as d
from warpdraft.core.authoring.resources import is_work_name
from warpdraft.core.consistency import PARITIES, TARGET_OF
from warpdraft.core.expressions import OPERATORS, LoopVariable, Operation, Symbol

TEXT = st.text(max_size=6)
PRINTABLE = st.characters(exclude_categories=["C", "Z"])  # what `str.isprintable` takes, but for the space
NAME = st.one_of(
    st.sampled_from(["a", "load", "class", "smem.a", "tiles", "build", "x_2", "x"]),
    st.text(PRINTABLE, min_size=1, max_size=4),
)
IDENTIFIER = st.from_regex(r"[a-z][a-z0-9_]{0,4}", fullmatch=True).filter(lambda s: not keyword.iskeyword(s))
WORK_NAME = IDENTIFIER.filter(is_work_name)
PARAMETER = IDENTIFIER.filter(lambda s: s not in ("self", "stage", "tx"))
SMALL = st.integers(0, 9)
STAGES = st.integers(1, 9)
COUNT = st.none() | SMALL
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
SOURCE = st.none() | st.builds(d.Source, TEXT, st.integers())
SYMBOLS = [Symbol("k_tiles", 1), Symbol("tiles"), Symbol("class"), Symbol("own", 0, True)]
INTEGER = st.recursive(
    st.integers(-3, 99) | st.sampled_from(SYMBOLS),
    lambda inner: st.builds(Operation, st.sampled_from(list(OPERATORS)), inner, inner),
    max_leaves=5,
)
COMPUTED = st.recursive(
    st.integers(-3, 99) | st.sampled_from(SYMBOLS) | st.builds(LoopVariable, NAME),
    lambda inner: st.builds(Operation, st.sampled_from(list(OPERATORS)), inner, inner),
    max_leaves=5,
)
PLACE = COUNT | COMPUTED.filter(lambda e: not isinstance(e, int) or e >= 0)  # a plain one is 0 or more
FOOTPRINT = st.none() | st.one_of(
    st.sampled_from(
        [d.WHOLE, d.WARP_SLICE, d.Footprint("range", 0, 128), d.Footprint("ranges", ranges=((0, 8), (8, 8)))]
    ),
    st.builds(d.Footprint, st.sampled_from(["whole", "range"]), SMALL, SMALL, st.just(((1, 2),))),
)


def pairs(values, keys=NAME, size=3):
    """(key, value) pairs with distinct keys."""
    return st.dictionaries(keys, values, max_size=size).map(lambda m: tuple(m.items()))


def several(values, size=3, by=None):
    """A tuple of values, distinct ``by`` a key."""
    return st.lists(values, max_size=size, unique_by=by).map(tuple)


def named(values, size=3):
    """A tuple of records with distinct names."""
    return several(values, size, by=lambda v: v.name)


CTAS = st.sampled_from(["", "", "peer", "all", "m", "own", (0,), (1, 0)])
WORK = st.builds(
    d.Work,
    name=WORK_NAME,
    role=st.sampled_from(["producer", "consumer"]),
    engine=st.none() | st.sampled_from(list(d.Engine)),
    view=st.booleans(),
    parameters=several(PARAMETER, by=str),
    returns=several(NAME, size=2),
    auxiliary=st.booleans(),
    footprint=FOOTPRINT,
    tx=COUNT,
    body=st.sampled_from(["", "sm90.wgmma", "module:Class.method"]),
    params=pairs(VALUE, NAME | st.sampled_from(["part", "tile", "engine"])),
    code=TEXT,
    ctas=CTAS,
)
PIPELINE = st.builds(
    d.Pipeline,
    stages=STAGES,
    type=st.sampled_from(["", "TmaAsync", "AsyncAsync", "UmmaAsync", "Unknown"]),
    bytes=COUNT,
    producer_count=COUNT,
    consumer_count=COUNT,
    producer_signal=st.none() | st.sampled_from(list(d.Signal)),
    consumer_signal=st.none() | st.sampled_from(list(d.Signal)),
    advance_on_acquire=st.booleans(),
    advance_on_wait=st.booleans(),
    producer_cta_leader=st.booleans(),
    interleave=st.sampled_from([(1, 1, 1, 1), (2, 2, 1, 1)]),
    multicast=st.sampled_from([(1, 1), (0, 1)]),
    cta_layout=st.sampled_from([(), (1, 2, 1, 1)]),
)
STORAGE = st.builds(
    d.Storage,
    bytes=st.sampled_from([0, 100, 128, 256]),
    stages=STAGES,
    alignment=st.sampled_from([1, 128, 1024]),
    parts=st.sampled_from([(), (d.Part("a", 0, 128), d.Part("b", 128, 128)), (d.Part("part", 8, 8),)]),
    alias=st.sampled_from(["", "shared"]),
    phase=SMALL,
    offset=COUNT,
)
RESOURCE = st.builds(
    d.Resource,
    name=NAME,
    space=st.sampled_from(list(d.Space)),
    pipeline=st.none() | PIPELINE,
    storage=st.none() | STORAGE,
    works=named(WORK),
    params=pairs(VALUE),
    cls=st.sampled_from(["", "m:Ring", "m:Outer.Ring", "m:"]),
    source=SOURCE,
)
KERNEL = st.builds(
    d.Kernel,
    name=TEXT,
    tensors=several(
        st.builds(
            d.Tensor,
            name=NAME,
            shape=st.tuples(INTEGER, INTEGER),
            dtype=TEXT,
            order=st.permutations([0, 1]).map(tuple),
            role=st.sampled_from(["in", "out"]),
        ),
        size=2,
    ),
    parameters=pairs(VALUE),
    trip_counts=pairs(INTEGER),
    grid=INTEGER,
    reference=TEXT,
    sizes=pairs(SMALL),
    small_sizes=pairs(SMALL),
)


@st.composite
def ops(draw, names):
    """One op on something that exists."""
    kind = draw(st.sampled_from([k for k in d.OpKind if TARGET_OF.get(k) is None or names[TARGET_OF[k]]]))
    op = d.Op("", kind, source=draw(SOURCE), copy_of=draw(st.sampled_from(["", "t.01"])))
    if kind in TARGET_OF:
        op = with_(op, target=draw(st.sampled_from(names[TARGET_OF[kind]])))
    lives = kind in (d.OpKind.MBARRIER_INIT, d.OpKind.MBARRIER_INVAL)
    if kind.value.startswith(("group_wait", "mbarrier")) and not lives:
        least = int(kind is d.OpKind.MBARRIER_ARRIVE)
        op = with_(op, count=draw(st.none() | st.integers(least, 9)))
    if kind.value.startswith("mbarrier"):
        op = with_(op, stage=draw(PLACE))
        if kind not in PARITIES and not lives:
            op = with_(op, ctas=draw(CTAS))
    if kind in PARITIES:
        op = with_(op, count=draw(PLACE))
    if kind is d.OpKind.MBARRIER_TRY_WAIT:
        op = with_(op, results=draw(several(NAME, size=1)))
    if TARGET_OF.get(kind) == "resource" and not kind.value.startswith(("tensormap", "fence", "tmem")):
        op = with_(
            op, results=draw(several(NAME)), stage=draw(PLACE), tx=draw(COUNT), footprint=draw(FOOTPRINT)
        )
    if kind is d.OpKind.WORK:
        values = VALUE | st.builds(d.Token, NAME)
        op = with_(
            op, work=draw(WORK_NAME), args=draw(pairs(values, PARAMETER.filter(lambda p: p != "footprint")))
        )
        op = with_(op, ctas=draw(CTAS))
    return op


def with_(record, **changes):
    """A changed copy."""
    return dataclasses.replace(record, **changes)


def nodes(names, depth=2):
    """A body of ops and blocks."""
    leaf = ops(names)
    if depth == 0:
        return several(leaf)
    inner = nodes(names, depth - 1)
    guard = st.builds(
        d.Guard,
        id=st.just(""),
        kind=st.sampled_from(list(d.GuardKind)),
        body=inner,
        loop=NAME,
        source=SOURCE,
    ).flatmap(_guard_fields)
    domain = st.builds(
        d.Loop,
        id=st.just(""),
        kind=st.just("domain"),
        var=NAME,
        body=inner,
        start=INTEGER,
        stop=INTEGER,
        step=INTEGER,
        unroll=COUNT,
        source=SOURCE,
    )
    blocks = [leaf, guard, domain]
    if names["resource"]:
        blocks.append(
            st.builds(
                d.Loop,
                id=st.just(""),
                kind=st.just("tile"),
                var=NAME,
                body=inner,
                stop=INTEGER,
                queue=st.sampled_from(names["resource"]),
                skip_if=TEXT,
                source=SOURCE,
            )
        )
    return several(st.one_of(blocks))


def numbered(body, counter):
    """``body`` with ids of its own."""
    done = []
    for node in body:
        node = with_(node, id=f"t.{next(counter):02d}")
        done.append(node if isinstance(node, d.Op) else with_(node, body=numbered(node.body, counter)))
    return tuple(done)


def _guard_fields(guard):
    """Only the fields that a guard of its kind uses."""
    kind = guard.kind
    if kind is d.GuardKind.ELECT_WARP:
        return SMALL.map(lambda w: with_(guard, loop="", warp=w))
    if kind is d.GuardKind.CTA_RANK:
        return SMALL.map(lambda c: with_(guard, loop="", cta=c))
    if kind is d.GuardKind.EVERY:
        return st.tuples(SMALL, SMALL).map(lambda p: with_(guard, period=p[0], start=p[1]))
    if kind in (d.GuardKind.WHEN_TRUE, d.GuardKind.WHEN_FALSE):
        return st.tuples(TEXT, st.just("") | NAME).map(lambda p: with_(guard, loop="", key=p[0], token=p[1]))
    return st.just(with_(guard, loop="") if kind is d.GuardKind.ELECT_LANE else guard)


@st.composite
def documents(draw):
    """A document that is consistent, though its schedule is nonsense."""
    resources = draw(named(RESOURCE))
    taken = {r.name for r in resources}

    def others(values):
        return tuple(v for v in draw(named(values, size=2)) if v.name not in taken and not taken.add(v.name))

    barriers = others(st.builds(d.NamedBarrier, NAME, SMALL, SMALL, SOURCE))
    mbarriers = others(
        st.builds(d.Mbarrier, NAME, COUNT, STAGES, SOURCE, st.sampled_from([None, "cta", "cluster"]), COUNT)
    )
    groups = others(
        st.builds(
            d.AsyncGroup,
            NAME,
            st.sampled_from([d.Engine.WGMMA, d.Engine.BULK_STORE, d.Engine.CP_ASYNC]),
            SOURCE,
        )
    )
    names = {
        "resource": [r.name for r in resources],
        "named barrier": [b.name for b in barriers],
        "mbarrier": [m.name for m in mbarriers],
        "async group": [g.name for g in groups],
    }
    some = several(st.sampled_from(names["resource"]), by=str) if resources else st.just(())
    edges = st.builds(d.Edge, *[st.sampled_from(names["resource"])] * 2) if resources else st.nothing()
    tasks = draw(
        named(
            st.builds(
                d.Task,
                name=NAME,
                warp_idx=SMALL,
                num_warps=STAGES,
                body=nodes(names),
                src=some,
                dst=some,
                num_registers=COUNT,
                source=SOURCE,
            ),
            size=2,
        )
    )
    counter = itertools.count()
    tasks = tuple(with_(t, body=numbered(t.body, counter)) for t in tasks)
    graph = draw(several(edges)) if resources else ()
    alone = [r.name for r in resources if r.name not in {e.downstream for e in graph}]
    return d.Document(
        name=draw(st.text(PRINTABLE, min_size=1, max_size=5)),
        target=draw(st.sampled_from(["sm_90a", "sm_100a"])),
        cluster=draw(st.tuples(STAGES, STAGES, STAGES)),
        symbols=tuple(draw(st.permutations(SYMBOLS))),
        resources=resources,
        barriers=barriers,
        mbarriers=mbarriers,
        groups=groups,
        graph=graph,
        roots=draw(several(st.sampled_from(alone), by=str)) if alone else (),
        tasks=tasks,
        kernel=draw(st.none() | KERNEL),
        smem_capacity=draw(COUNT),
        tmem_capacity=draw(COUNT),
        ctas_per_sm=draw(SMALL),
    )


@pytest.fixture(scope="session", name="documents")
def documents_fixture():
    """The strategy of random documents."""
    return documents()
