"""A small persistent GEMM document, built by hand: a load warp, two math warpgroups, an unrolled epilogue."""

from warpdraft.core.document import (
    WARP_SLICE,
    AsyncGroup,
    Document,
    Edge,
    Engine,
    Guard,
    GuardKind,
    Loop,
    NamedBarrier,
    Op,
    OpKind,
    Pipeline,
    Resource,
    Space,
    Storage,
    Task,
    Token,
    Work,
)
from warpdraft.core.expressions import Symbol

K, TILES = Symbol("k_tiles", 1), Symbol("tiles", 0)


def _resources() -> tuple[Resource, ...]:
    coords = (Work("coords", "consumer", parameters=(), returns=("coord",)),)
    load = {"role": "producer", "engine": Engine.TMA, "parameters": ("coord",)}
    return (
        Resource("queue", Space.QUEUE, works=(Work("advance", "consumer"),)),
        Resource("gmem_a", Space.GMEM, works=coords),
        Resource("gmem_b", Space.GMEM, works=coords),
        Resource(
            "gmem_c",
            Space.GMEM,
            works=(Work("bulk_store", "producer", Engine.BULK_STORE, parameters=("staged",)),),
        ),
        Resource(
            "smem_ab",
            Space.SMEM,
            Pipeline(4, bytes=49152, advance_on_wait=True),
            Storage(49152, 4, 1024),
            (
                Work("load_a", **load, tx=16384),
                Work("load_b", **load, tx=32768),
                Work("tiles", "consumer", view=True, returns=("tiles",)),
            ),
        ),
        Resource(
            "acc",
            Space.RMEM,
            works=(
                Work("mma", "producer", Engine.WGMMA, parameters=("tiles",)),
                Work("read", "consumer", returns=("fragment",)),
            ),
        ),
        Resource(
            "smem_c",
            Space.SMEM,
            storage=Storage(16384, 2),
            works=(
                Work("store", "producer", parameters=("fragment",), footprint=WARP_SLICE),
                Work("staged", "consumer", view=True, returns=("staged",)),
            ),
        ),
    )


def _load() -> Task:
    ids = iter(f"load.{n:02d}" for n in range(99))

    def op(kind, target="", work="", args=(), results=()):
        return Op(next(ids), kind, target, work, args, results)

    inner = (
        op(OpKind.WORK, "gmem_a", "coords", results=("coord_a",)),
        op(OpKind.WORK, "gmem_b", "coords", results=("coord_b",)),
        op(OpKind.ACQUIRE, "smem_ab"),
        op(OpKind.WORK, "smem_ab", "load_a", (("coord", Token("coord_a")),)),
        op(OpKind.WORK, "smem_ab", "load_b", (("coord", Token("coord_b")),)),
        op(OpKind.COMMIT, "smem_ab"),
    )
    k = Loop(next(ids), "domain", "k", inner, 0, K)
    body = (
        Loop(next(ids), "tile", "tile", (k, op(OpKind.WORK, "queue", "advance")), stop=TILES, queue="queue"),
    )
    return Task("load", 8, 1, body, ("queue", "gmem_a", "gmem_b"), ("smem_ab",), 40)


def _math() -> Task:
    ids = iter(f"math.{n:02d}" for n in range(99))

    def op(kind, target="", work="", args=(), results=(), **more):
        return Op(next(ids), kind, target, work, args, results, **more)

    inner = (
        op(OpKind.WAIT, "smem_ab"),
        op(OpKind.WORK, "smem_ab", "tiles", results=("tiles",)),
        op(OpKind.WORK, "acc", "mma", (("tiles", Token("tiles")),)),
        op(OpKind.GROUP_COMMIT, "mma_group"),
        op(OpKind.GROUP_WAIT, "mma_group", count=1),
        Guard(next(ids), GuardKind.EVERY, (op(OpKind.RELEASE, "smem_ab"),), "k", start=1),
    )
    body = [Loop(next(ids), "domain", "k", inner, 0, K)]
    body += [op(OpKind.GROUP_WAIT, "mma_group", count=0), op(OpKind.RELEASE, "smem_ab")]
    first: dict[int, str] = {}
    for subtile in range(4):
        steps = [
            op(OpKind.WORK, "acc", "read", results=("fragment",)),
            op(OpKind.WORK, "smem_c", "store", (("fragment", Token("fragment")),), stage=subtile % 2),
            op(OpKind.FENCE_PROXY_ASYNC),
            op(OpKind.BARRIER_SYNC, "epilogue"),
            op(OpKind.WORK, "smem_c", "staged", results=("staged",), stage=subtile % 2),
            op(OpKind.WORK, "gmem_c", "bulk_store", (("staged", Token("staged")),)),
            op(OpKind.GROUP_COMMIT, "store_group"),
            op(OpKind.GROUP_WAIT_READ, "store_group", count=1),
        ]
        steps = [
            Op(
                s.id,
                s.kind,
                s.target,
                s.work,
                s.args,
                s.results,
                s.stage,
                s.count,
                copy_of=first.setdefault(i, s.id),
            )
            for i, s in enumerate(steps)
        ]
        body += steps[:4]
        body.append(Guard(next(ids), GuardKind.ELECT_WARP, tuple(steps[4:])))
        body.append(op(OpKind.BARRIER_SYNC, "epilogue"))
    tile = Loop(
        next(ids), "tile", "tile", (*body, op(OpKind.WORK, "queue", "advance")), stop=TILES, queue="queue"
    )
    drain = Guard(next(ids), GuardKind.ELECT_WARP, (op(OpKind.GROUP_WAIT, "store_group", count=0),))
    return Task("math", 0, 8, (tile, drain), ("queue", "smem_ab"), ("acc", "smem_c", "gmem_c"), 232)


def gemm() -> Document:
    """The whole document."""
    return Document(
        "persistent_gemm",
        symbols=(K, TILES),
        resources=_resources(),
        barriers=(NamedBarrier("epilogue", 1, 256),),
        groups=(AsyncGroup("mma_group", Engine.WGMMA), AsyncGroup("store_group", Engine.BULK_STORE)),
        graph=(
            Edge("gmem_a", "smem_ab"),
            Edge("gmem_b", "smem_ab"),
            Edge("smem_ab", "acc"),
            Edge("acc", "smem_c"),
            Edge("smem_c", "gmem_c"),
        ),
        tasks=(_load(), _math()),
    )
