"""What an author writes by mistake is refused at the author's line, with what to do instead; NumPy's integers are taken."""

import numpy as np
import pytest

from warpdraft.core import (
    AsyncGroup,
    Every,
    GmemTensor,
    Kernel,
    MBarrier,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    ScheduleError,
    SmemAllocation,
    Task,
    TaskManager,
    TmemAllocation,
    ceil_div,
    consumer_work,
    create_tma_async_pipeline_cfg,
    domain_loop,
    elect_warp,
    producer_work,
    schedule,
    symbol,
    sync_warp,
    verify,
    when_true,
)
from warpdraft.core.document import Pipeline, Storage
from warpdraft.core.tables import memory_table

K = symbol("k_tiles")


class Ring(MemoryResource):
    @producer_work
    def fill(self, stage_info, value): ...

    @consumer_work
    def read(self, stage_info): ...


def ring(**keywords):
    return Ring(name="ring", pipeline_config=PipelineConfig(2), **keywords)


def captured(body):
    @schedule
    def play(ring):
        with domain_loop(K) as k:
            body(ring, k)

    return play(ring())


def refusal(function, *arguments):
    with pytest.raises(ScheduleError) as error:
        function(*arguments)
    where, _, what = str(error.value).partition(": ")
    assert where.startswith(__file__), str(error.value)
    return what


@pytest.mark.parametrize(
    "body",
    [
        lambda r, k: r.fill(value=1) if k else None,
        lambda r, k: r.fill(value=1) if k == 0 else None,
        lambda r, k: r.fill(value=1) if k != 0 else None,
        lambda r, k: r.fill(value=1) if k > 0 else None,
        lambda r, k: r.fill(value=1) if k % 2 == 0 else None,
        lambda r, k: r.fill(value=-k),
        lambda r, k: r.fill(value=[10, 20][k]),
        lambda r, k: r.fill(value=int(k)),
        lambda r, k: [r.fill(value=i) for i in range(k)],
    ],
)
def test_a_loop_index_has_no_value_at_capture(body):
    what = refusal(captured, body)
    assert what.startswith(("<loop k> has no value at capture", "<(k % 2)> has no value"))
    assert "k.first_iter()" in what and "when_true()" in what


@pytest.mark.parametrize("body", [lambda r, k: r.fill(value=k + 1), lambda r, k: r.fill(value=2 * k)])
def test_what_is_computed_with_a_loop_is_no_argument(body):
    assert "cannot be an argument; pass the loops' variables" in refusal(captured, body)


@pytest.mark.parametrize(
    "body",
    [
        lambda r, k: r.fill(stage=k * 1.5),
        lambda r, k: r.fill(stage=k & 2),
        lambda r, k: r.fill(stage=k ^ 2),
        lambda r, k: r.fill(stage=1 << k),
        lambda r, k: r.fill(stage=k % True),
    ],
)
def test_what_no_expression_says(body):
    assert "cannot be computed at run time: use + - * // %" in refusal(captured, body)


@pytest.mark.parametrize(
    "body",
    [
        lambda r, k: r.fill(value=1) if r.try_acquire() else None,
        lambda r, k: r.fill(value=1) if r.read() == 3 else None,
        lambda r, k: r.fill(value=1) if r.read() > 3 else None,
        lambda r, k: r.fill(value=r.read() + 1),
        lambda r, k: r.fill(value=r.read()[0]),
    ],
)
def test_a_token_has_no_value_at_capture(body):
    what = refusal(captured, body)
    assert "has no value at capture; use when_true(token)" in what


def test_blocks_that_are_never_entered():
    @schedule
    def loop(ring):
        domain_loop(K)
        ring.fill(value=1)

    @schedule
    def guard(ring):
        with domain_loop(K) as k:
            k.first_iter()
            ring.fill(value=1)

    @schedule
    def condition(ring):
        when_true(ring.read())

    @schedule
    def twice(ring):
        block = elect_warp(0)
        with block:
            ring.fill(value=1)
        with block:
            ring.fill(value=2)

    assert "this domain_loop() is never entered" in refusal(loop, ring())
    assert "with domain_loop(...):" in refusal(loop, ring())
    assert "this first_iter() is never entered" in refusal(guard, ring())
    assert "this when_true() is never entered" in refusal(condition, ring())
    assert "entered before" in refusal(twice, ring())


@pytest.mark.parametrize(
    "body, words",
    [
        (lambda r, k: r.acquire(stage=1), "the pipeline of 'ring' chooses the stage by its cursor"),
        (lambda r, k: r.read(stage=1), "the pipeline of 'ring' chooses the stage by its cursor"),
        (lambda r, k: r.acquire(1), "acquire() takes no positional arguments, and is given 1"),
        (lambda r, k: r.fill(value=K), "k_tiles is known only at run time and cannot be an argument"),
        (lambda r, k: r.fill(value=K + 1), "known only at run time"),
        (
            lambda r, k: k.every(2.5).__enter__(),
            "the period of every() must be an integer known at capture, not 2.5",
        ),
        (
            lambda r, k: k.every(K).__enter__(),
            "the symbol or expression k_tiles, which is known only at run time",
        ),
        (lambda r, k: k.every(2, start=k).__enter__(), "<loop k>, which is known only at run time"),
        (lambda r, k: when_true(Every(2.5)), "Every.period must be an integer"),
        (lambda r, k: elect_warp(0.5), "elect_warp() must be an integer"),
        (
            lambda r, k: domain_loop(0, 2.5),
            "stop must be an integer, a symbol or an expression of symbols, not 2.5",
        ),
        (lambda r, k: domain_loop(k), "<loop k>, which is known only at run time"),
        (lambda r, k: MBarrier("b").arrive(0.5), "count must be an integer known at capture"),
        (lambda r, k: MBarrier("b").arrive(0), "count must be 1 or more, not 0"),
        (lambda r, k: MBarrier("a\nb"), "must be printable, without line breaks"),
        (lambda r, k: NamedBarrier(1, 32, "\x1b[31m"), "must be printable"),
    ],
)
def test_arguments_that_mean_nothing(body, words):
    assert words in refusal(captured, body)


def manager(graph=None, **keywords):
    return TaskManager([], {} if graph is None else graph, **keywords)


def test_managers_tasks_and_pipelines():
    one = ring()
    assert "must be a mapping {downstream: [upstream, ...]}, not list" in refusal(manager, [one])
    assert "gives 'ring' a Ring; give it a list" in refusal(manager, {one: one})
    assert "(2, 1, 1), not 2" in refusal(lambda: manager(cluster=2))
    assert "a dimension of cluster" in refusal(lambda: manager(cluster=(1, 1, 1.5)))
    assert "tasks must be a list of tasks" in refusal(lambda: TaskManager([one], {}))
    assert "smem_capacity_bytes" in refusal(lambda: manager(smem_capacity_bytes=2.5))
    assert "name of the schedule must be printable" in refusal(lambda: manager(name="a\tb"))
    play = captured(lambda r, k: None)
    assert "name of a task must be printable" in refusal(
        lambda: Task([], [], 0, 1, schedule=play, name="a\x00b")
    )
    assert "warp_idx must be an integer" in refusal(lambda: Task([], [], 0.5, 1, schedule=play))
    assert "src_resources must be a list" in refusal(lambda: Task(one, [], 0, 1, schedule=play))
    assert "'TmaTma' is not one of AsyncAsync" in refusal(lambda: PipelineConfig(2, pipeline_type="TmaTma"))
    words = refusal(lambda: PipelineConfig(2, consumer_signaling_threads="warps"))
    assert "'warps' is neither a SignalingThreads nor one of warp" in words
    assert "no arrival count" in refusal(lambda: PipelineConfig(2, producer_group="four"))
    assert "num_bytes" in refusal(lambda: create_tma_async_pipeline_cfg(2, 16.5))
    assert "threads of a named barrier" in refusal(lambda: NamedBarrier(1, 12.5))
    assert "shape of tensor 'a'" in refusal(lambda: GmemTensor("a", 64, "fp16"))
    assert "an extent of tensor 'a'" in refusal(lambda: GmemTensor("a", (64, "M"), "fp16"))
    assert "grid must be an integer" in refusal(lambda: Kernel("k", grid=2.5))


def test_numpys_integers_are_integers():
    n = np.int64(4)

    @schedule
    def play(ring, bar, ready, group):
        with domain_loop(n, K + n, n) as k:
            ring.fill(value=n)
            with k.every(n, start=np.int8(1)), elect_warp(np.uint8(0)):
                ready.arrive(n)
        group.wait(np.int32(0))

    config = PipelineConfig(np.int64(3), num_bytes=np.int64(512), producer_group=np.int64(4))
    one = Ring(name="ring", pipeline_config=config, storage=np.int64(512))
    things = NamedBarrier(np.int64(1), np.int64(128)), MBarrier("ready"), AsyncGroup("wgmma")
    task = Task([], [one], np.int64(0), n, schedule=play(one, *things), num_registers=np.int64(40))
    kernel = Kernel("k", [GmemTensor("a", (n * K, n), "fp16")], {"tile": (n, n)}, {"k_tiles": ceil_div(K, n)})
    found = TaskManager([task], {}, kernel=kernel, cluster=(np.int64(1), 1, 1)).document

    def numbers(value):
        if hasattr(value, "__dataclass_fields__"):
            for name in value.__dataclass_fields__:
                yield from numbers(getattr(value, name))
        elif isinstance(value, tuple):
            for item in value:
                yield from numbers(item)
        else:
            yield value

    assert not [v for v in numbers(found) if isinstance(v, np.generic)]
    loop = found.tasks[0].body[0]
    assert (loop.start, loop.stop, loop.step) == (4, K + 4, 4)
    assert found.resources[0].pipeline.producer_count == 4
    with pytest.raises(TypeError):
        K * 2.5


def test_capacities_are_honoured():
    big = MemoryResource(name="big", smem=[SmemAllocation("big", 4096)])
    wide = MemoryResource(name="wide", tmem=[TmemAllocation("wide", 256)])
    keywords = {"resources": [big, wide], "target": "sm_100a"}
    assert not manager(**keywords).verify().errors
    small = manager(**keywords, smem_capacity_bytes=4000, tmem_capacity_columns=128)
    assert {f.code for f in small.verify().errors} == {"WD601", "WD602"}
    assert "4096 of 4000 B" in memory_table(small.document)
    assert "256 of 128 columns" in memory_table(small.document)
    beyond = manager(**keywords, smem_capacity_bytes=10**9)  # the hardware's limit stays
    assert "of 232448 B" in memory_table(beyond.document)


def test_bytes_without_storage_are_shown():
    config = create_tma_async_pipeline_cfg(num_stages=3, num_bytes=16384)
    copied = MemoryResource(name="copied", pipeline_config=config)
    document = manager(resources=[copied]).document
    assert memory_table(document) == (
        "shared memory: at least 49200 of 232448 B (barriers 48 B; "
        "copied: storage not declared, its copies bring 3 x 16384 B)"
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MemoryResource(name="x", stages=-3), "stages of 'x' must be 1 or more, not -3"),
        (lambda: MemoryResource(name="x", stages=0), "stages of 'x' must be 1 or more, not 0"),
        (lambda: MemoryResource(stages=1 << 40), "stages must be 65,536 or less"),
        (lambda: MemoryResource(name="x", storage=-1), "storage of 'x' must be 0 or more, not -1"),
        (lambda: MemoryResource(name="x", storage=Storage(8, stages=0)), "stages of the storage of 'x'"),
        (lambda: MemoryResource(name="x", storage=Storage(-8)), "bytes of the storage of 'x'"),
        (lambda: MemoryResource(name="x", pipeline_config=Pipeline(-1)), "stages of the pipeline of 'x'"),
        (lambda: PipelineConfig(-1), "num_stages must be 1 or more, not -1"),
        (lambda: PipelineConfig(10**9), "num_stages must be 65,536 or less, not 1,000,000,000"),
        (lambda: PipelineConfig(2, num_bytes=-4), "num_bytes must be 0 or more"),
        (lambda: SmemAllocation("a", -16), "size_bytes of 'a' must be 0 or more, not -16"),
        (lambda: SmemAllocation("a", 1 << 60), "size_bytes of 'a' must be 1,099,511,627,776 or less"),
        (lambda: SmemAllocation("a", 16, alignment=0), "alignment of 'a' must be 1 or more"),
        (lambda: SmemAllocation("a", dtype=np.dtype("f4"), count=-1), "count of 'a' must be 0 or more"),
        (lambda: TmemAllocation("a", -32), "num_columns of 'a' must be 0 or more"),
        (lambda: MBarrier("m", stages=0), "stages of an mbarrier must be 1 or more"),
        (lambda: Task([], [], -1, 4, schedule=nothing()), "warp_idx must be 0 or more, not -1"),
        (lambda: Task([], [], 0, 0, schedule=nothing()), "num_warps must be 1 or more, not 0"),
        (
            lambda: Task([], [], 0, 10**6, schedule=nothing()),
            "num_warps must be 1,024 or less, not 1,000,000",
        ),
    ],
)
def test_sizes_that_nothing_has(make, words):
    assert words in refusal(make)


@schedule
def nothing():
    pass


@pytest.mark.parametrize(
    "body",
    [
        lambda m, x: m.arrive(stage=-1),
        lambda m, x: m.expect_tx(-64),
        lambda m, x: x.fill(value=1, stage=-2),
        lambda m, x: x.fill(value=1, tx=-2),
    ],
)
def test_negative_numbers_of_ops(body):
    play = schedule(lambda m, x: body(m, x))
    assert "must be 0 or more" in refusal(play, MBarrier("m"), Ring(name="x"))


def test_a_rounded_up_division_by_zero_is_refused_for_numbers_and_reported_for_expressions():
    with pytest.raises(ScheduleError, match="divides by 0"):
        ceil_div(4, 0)

    @schedule
    def nothing():
        with domain_loop(0, ceil_div(symbol("n"), 0)):
            sync_warp()

    manager = TaskManager([Task([], [], 0, 1, schedule=nothing(), name="t")], {})
    assert "WD107" in {f.code for f in verify(manager.document).errors}
