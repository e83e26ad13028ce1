"""Both backends take and refuse the same stock bodies, in the same words."""

import runpy
from dataclasses import replace
from pathlib import Path

import pytest

import warpdraft.assets
from warpdraft.backends.cutedsl import LoweringError, lower
from warpdraft.backends.emulator import BODIES as TWINS
from warpdraft.backends.emulator import EmulationError, emulate
from warpdraft.backends.vocabulary import BODIES
from warpdraft.core import (
    AsyncGroup,
    GmemTensor,
    Kernel,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    Task,
    TaskManager,
    ceil_div,
    consumer_work,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
)
from warpdraft.core.document import Engine, Token
from warpdraft.core.expressions import Operation, Symbol
from warpdraft.core.store import DocumentError, dumps, load

ROOT = Path(warpdraft.assets.__file__).parents[1]
store_task = runpy.run_path(str(ROOT / "benchmarks" / "gpu" / "store_task.py"))["store_task"]
GEMM = load(ROOT / "assets" / "examples" / "persistent_gemm.warpdraft.json")
SMALL = {"M": 128, "N": 256, "K": 128}


def with_work(resource, work, drop=(), document=GEMM, **changes):
    """The GEMM with other parameters of one work; ``engine`` is the work's own field."""
    found = next(r for r in document.resources if r.name == resource)
    old = next(w for w in found.works if w.name == work)
    own = {"engine": changes.pop("engine")} if "engine" in changes else {}
    params = {k: v for k, v in (dict(old.params) | changes).items() if k not in drop}
    new = replace(old, params=tuple(params.items()), **own)
    works = tuple(new if w is old else w for w in found.works)
    resources = tuple(replace(r, works=works) if r is found else r for r in document.resources)
    return replace(document, resources=resources)


def with_op(op_id, **arguments):
    def changed(node):
        if getattr(node, "body", None) is not None:
            return replace(node, body=tuple(changed(n) for n in node.body))
        if node.id != op_id:
            return node
        return replace(node, args=tuple((dict(node.args) | arguments).items()))

    return replace(GEMM, tasks=tuple(changed(t) for t in GEMM.tasks))


def test_both_backends_have_all_bodies():
    from warpdraft.backends.cutedsl.bodies import BODIES as WRITTEN

    assert set(BODIES) == set(TWINS) == set(WRITTEN)


@pytest.mark.parametrize(
    "document, message",
    [
        (with_work("smem_ab", "load_a", tile=(128, "")), "parameter 'tile' must be 2 positive integers, not"),
        (with_work("smem_ab", "load_a", tile=5), "parameter 'tile' must be 2 positive integers, not 5"),
        (with_work("smem_ab", "load_a", tile=(128, 0)), "parameter 'tile' must be 2 positive integers, not"),
        (with_work("smem_ab", "load_a", tile=(1, 2, 3)), "parameter 'tile' must be 2 positive integers, not"),
        (
            with_work("smem_ab", "load_a", tile="tile"),
            "parameter 'tile' must be 2 positive integers, not 'tile'",
        ),
        (with_work("smem_ab", "load_a", drop=("tile",)), "parameter 'tile' is missing"),
        (with_work("smem_ab", "load_a", coords=7), "parameter 'coords' must be 2 or 3 names, not 7"),
        (with_work("smem_ab", "load_a", coords=("coord_m",)), "parameter 'coords' must be 2 or 3 names, not"),
        (
            with_work("smem_ab", "load_a", coords=("coord_m", 1)),
            "parameter 'coords' must be 2 or 3 names, not",
        ),
        (with_work("smem_ab", "load_a", coords=("coord_m", "x")), "argument 'x' is missing"),
        (with_work("smem_ab", "load_a", tensor=3), "parameter 'tensor' must be a name, not 3"),
        (with_work("smem_ab", "load_a", tensor="z"), "the kernel has no tensor 'z'"),
        (
            with_work("smem_ab", "load_a", colour="red"),
            "has no parameter 'colour', only tensor, tile, coords, part",
        ),
        (with_work("smem_ab", "load_a", engine=Engine.WARP), "needs engine 'tma', not 'warp'"),
        (with_work("acc", "mma", engine=None), "needs engine 'wgmma', not 'warp'"),
        (
            with_work("acc", "mma", overwrite="now"),
            "overwrite='now' is not 'first_iter', 'always' or 'never'",
        ),
        (with_work("acc", "mma", tile=(128, 256, 8)), "k = 8 is not a multiple of 16"),
        (with_work("acc", "mma", tile=(100, 256, 64)), "2 warpgroups cannot share a tile of 100 x 256"),
        (with_work("acc", "mma", drop=("a",)), "parameter 'a' is missing"),
        (with_work("smem_c", "store", part="c"), "has no parameter 'part', only none"),
        (
            with_work("gmem_c", "bulk_store", tile=(64, 64)),
            "tiles of (64, 64) do not cut the accumulator tile (128, 256)",
        ),
        (with_work("gmem_c", "bulk_store", tile="x"), "parameter 'tile' must be 2 positive integers"),
        (with_op("load.05", coord_m=Token("nobody")), "nobody"),
    ],
)
def test_what_no_backend_takes(document, message):
    with pytest.raises(LoweringError) as lowering:
        lower(document)
    with pytest.raises(EmulationError) as emulation:
        emulate(document, SMALL)
    assert message in str(lowering.value) and message in str(emulation.value)
    assert str(lowering.value).partition(":")[0] == str(emulation.value).partition(":")[0]  # the same op


@pytest.mark.parametrize("tile", [(64, "", 64), (), "big", (0, 256, 64), None])
def test_the_kernels_tile(tile):
    parameters = tuple((dict(GEMM.kernel.parameters) | {"tile": tile}).items())
    document = replace(GEMM, kernel=replace(GEMM.kernel, parameters=parameters))
    for function, error in ((lower, LoweringError), (emulate, EmulationError)):
        with pytest.raises(error, match="the kernel parameter 'tile' must be two or more positive integers"):
            function(document)


def test_an_unknown_operator():
    for operator in ("", "**"):
        grid = Operation(operator, Symbol("M"), 64)
        document = replace(GEMM, kernel=replace(GEMM.kernel, grid=grid))
        with pytest.raises(LoweringError, match="is not one of"):
            lower(document)
        with pytest.raises(EmulationError, match=r"the grid: operator .* is not one of"):
            emulate(document)
        with pytest.raises(DocumentError, match=r"kernel\.grid: operator '.*' is not one of \+, -"):
            dumps(document)


@pytest.mark.parametrize("shape", [(Symbol("M"),), (1, Symbol("M"), Symbol("K"))])
def test_tensors_of_other_dimensions(shape):
    tensors = tuple(
        replace(t, shape=shape, order=tuple(range(len(shape)))) if t.name == "a" else t
        for t in GEMM.kernel.tensors
    )
    document = replace(GEMM, kernel=replace(GEMM.kernel, tensors=tensors))
    with pytest.raises(EmulationError):
        emulate(document, SMALL)
    with pytest.raises(LoweringError, match=r"2 coordinates of a, which has|one dimension"):
        lower(document)
    with pytest.raises(EmulationError, match="elements are emulated"):
        emulate(GEMM, {"M": 10**9})
    with pytest.raises(EmulationError, match="size M must be an integer, not 'many'"):
        emulate(GEMM, {"M": "many"})


def test_overwrite():
    one_step = {**SMALL, "K": 64}
    for overwrite in ("first_iter", "always"):
        document = with_work("acc", "mma", overwrite=overwrite)
        assert emulate(document, one_step).verdict == "right"
    assert (
        emulate(with_work("acc", "mma", overwrite="always"), SMALL).verdict == "wrong"
    )  # the last step alone
    for overwrite in ("never", None):
        document = with_work("acc", "mma", drop=() if overwrite else ("overwrite",), overwrite=overwrite)
        assert emulate(document, one_step).verdict == "wrong"  # registers begin as anything
    assert "        False,\n" in lower(with_work("acc", "mma", overwrite="always"))
    assert "        True,\n" in lower(with_work("acc", "mma", overwrite="never"))


def test_columns_shared_by_warpgroups():
    document = store_task(64, 64, 8)
    assert "(1, 2, 1)" in lower(document)
    assert emulate(document, {"M": 128, "N": 192, "K": 128}).verdict == "right"


def test_operands_that_are_views_of_their_own():
    def operand(tensor, rows):
        class Operand(MemoryResource):
            @producer_work(
                engine="tma", body="sm90.tma_load", tensor=tensor, tile=(rows, 64), coords=("row", "k")
            )
            def load(self, stage_info, row, k): ...

            @consumer_work(view=True, returns=f"tile_{tensor}")
            def tile(self, stage_info): ...

        config = PipelineConfig(2)
        return Operand(name=f"smem_{tensor}", storage=rows * 128, pipeline_config=config)

    class Where(MemoryResource):
        @consumer_work(body="sm90.tile_coords", returns=("coord_n", "coord_m"))  # named, not by place
        def where(self, stage_info): ...

    class Acc(MemoryResource):
        @producer_work(
            engine="wgmma", body="sm90.wgmma", a="left", b="right", tile=(64, 128, 64), overwrite="first_iter"
        )
        def mma(self, stage_info, left, right): ...

        @consumer_work(body="sm90.read_fragment", returns="fragment", subtiles=2)
        def read(self, stage_info, subtile): ...

    class Staging(MemoryResource):
        @producer_work(body="sm90.store_fragment")
        def store(self, stage_info, fragment): ...

        @consumer_work(view=True, returns="staged")
        def staged(self, stage_info): ...

    class Out(MemoryResource):
        @producer_work(
            engine="bulk_store", body="sm90.bulk_store", tensor="c", tile=(64, 64), coords=("m", "n")
        )
        def store(self, stage_info, staged, m, n, subtile): ...

    k_tiles, M, N, K = symbol("k_tiles", min=1), symbol("M"), symbol("N"), symbol("K")

    @schedule
    def load(where, a, b):
        n, m = where.where()
        with domain_loop(k_tiles) as k:
            for ring, row in ((a, m), (b, n)):
                ring.acquire()
                ring.load(row=row, k=k)
                ring.commit()

    @schedule
    def math(where, a, b, acc, staging, out, mmas, stores, barrier):
        n, m = where.where()
        with domain_loop(k_tiles):
            a.wait()
            b.wait()
            acc.mma(left=a.tile(), right=b.tile())
            mmas.commit()
            mmas.wait(0)
            a.release()
            b.release()
        for subtile in range(2):
            staging.store(fragment=acc.read(subtile=subtile))
            fence_proxy_async()
            barrier.sync()
            with elect_warp(0):
                out.store(staged=staging.staged(), m=m, n=n, subtile=subtile)
                stores.commit()
                stores.wait_read(0)
            barrier.sync()

    where, acc, staging, out = (
        Where(name="where"),
        Acc(name="acc", space="rmem"),
        Staging(name="st", storage=8192),
        Out(name="out"),
    )
    a, b = operand("a", 64), operand("b", 128)
    groups = AsyncGroup("wgmma"), AsyncGroup("bulk_store"), NamedBarrier(1, 128)
    document = TaskManager(
        [
            Task([where], [a, b], 0, 1, schedule=load(where, a, b)),
            Task(
                [where, a, b, acc, staging],
                [acc, staging, out],
                4,
                4,
                schedule=math(where, a, b, acc, staging, out, *groups),
            ),
        ],
        {},
        kernel=Kernel(
            "gemm",
            [
                GmemTensor("a", (M, K), "fp16"),
                GmemTensor("b", (N, K), "fp16"),
                GmemTensor("c", (M, N), "fp16", role="out"),
            ],
            {"tile": (64, 128, 64)},
            {"k_tiles": ceil_div(K, 64)},
            ceil_div(M, 64) * ceil_div(N, 128),
            "gemm",
            small_sizes={"M": 128, "N": 256, "K": 192},
        ),
    ).document
    source = lower(document)
    assert "tile_at(block, m_tiles, 8," in source  # without a queue, by the one default
    assert emulate(document).verdict == "right"
