"""A document that has something of everything, to be imported by path."""

from warpdraft.core.document import (
    AsyncGroup,
    Document,
    Edge,
    Engine,
    Footprint,
    Guard,
    GuardKind,
    Kernel,
    Loop,
    Mbarrier,
    NamedBarrier,
    Op,
    OpKind,
    Pipeline,
    PipelineGroup,
    PipelineGroupMode,
    Resource,
    Space,
    Storage,
    Task,
    Tensor,
    Work,
)
from warpdraft.core.expressions import Symbol

N, M = Symbol("n", 1), Symbol("M")
BODY = (
    Loop(
        "t.00",
        "domain",
        "k",
        (
            Op("t.01", OpKind.WAIT, "ring"),
            Op(
                "t.02",
                OpKind.WORK,
                "ring",
                "fill",
                (("x", 1),),
                ("got",),
                footprint=Footprint("range", 0, 64),
            ),
            Op("t.03", OpKind.WORK, "ring", "slice", footprint=Footprint("ranges", ranges=((0, 8), (8, 8)))),
            Op("t.04", OpKind.MBARRIER_WAIT, "go"),
            Op("t.05", OpKind.MBARRIER_ARRIVE, "go", count=1),
            Op("t.06", OpKind.GROUP_WAIT, "stores", count=0),
            Op("t.07", OpKind.TMEM_ALLOC, "acc"),
        ),
        stop=N,
    ),
    Loop("t.08", "tile", "tile", (), stop=N, queue="queue"),
    Guard("t.09", GuardKind.EVERY, (), "k"),
    Guard("t.10", GuardKind.ELECT_WARP, ()),
    Guard("t.11", GuardKind.WHEN_TRUE, (), key="go_on"),
    Guard("t.12", GuardKind.CTA_RANK, ()),
)
RING = Resource(
    "ring",
    Space.SMEM,
    Pipeline(2),
    Storage(256, 2),
    (
        Work("fill", "producer", Engine.TMA, footprint=Footprint("range", 0, 64)),
        Work("slice", "consumer"),
    ),
)
ALL = Document(
    "all",
    cluster=(2, 1, 1),
    symbols=(N,),
    resources=(
        RING,
        Resource("second", Space.SMEM, Pipeline(2), Storage(256, 2)),
        Resource("third", Space.SMEM, Pipeline(2), Storage(256, 2)),
        Resource("queue", Space.QUEUE),
        Resource("acc", Space.TMEM, storage=Storage(128)),
        Resource("out", Space.GMEM, works=(Work("put", "producer", Engine.BULK_STORE),)),
    ),
    barriers=(NamedBarrier("meet", 1, 64),),
    mbarriers=(Mbarrier("go", stages=2),),
    groups=(AsyncGroup("stores", Engine.BULK_STORE), AsyncGroup("mmas", Engine.WGMMA)),
    pipeline_groups=(PipelineGroup("rings", PipelineGroupMode.Merge, ("ring", "second"), Pipeline(2)),),
    graph=(Edge("queue", "ring"),),
    tasks=(Task("t", 0, 2, BODY, ("ring", "queue"), ("ring", "second", "acc", "out")),),
    kernel=Kernel("all", (Tensor("a", (M,), "fp16", (0,)), Tensor("b", (M, M), "fp16", (0, 1))), grid=1),
)
