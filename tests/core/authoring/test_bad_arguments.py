"""Every public callable with arguments that it cannot have: it takes them, or says so at the author's line.

What it takes must also verify, store and write back: nothing bad is let in to fail later.
"""

import inspect

import pytest

import warpdraft.core as core
from warpdraft.core import (
    AsyncGroup,
    Document,
    GmemTensor,
    Kernel,
    MBarrier,
    MemoryResource,
    NamedBarrier,
    PipelineConfig,
    PipelineGroup,
    ScheduleError,
    SmemAllocation,
    SmemAllocator,
    Task,
    TaskManager,
    TileSchedulerType,
    TmemAllocation,
    TmemAllocator,
    WorkAttr,
    WorkQueue,
    ceil_div,
    consumer_work,
    domain_loop,
    dumps,
    elect_warp,
    named_loop,
    named_token,
    producer_work,
    schedule,
    symbol,
    to_python,
    verify,
    when_true,
    work_tile_loop,
)


class Ring(MemoryResource):
    @producer_work
    def fill(self, stage_info, value=1): ...

    @consumer_work
    def read(self, stage_info): ...


def ring(name="ring"):
    return Ring(name=name, pipeline_config=PipelineConfig(2), smem=[SmemAllocation("x", 128)])


@schedule
def produce(r):
    with domain_loop(0, symbol("k")):
        r.acquire()
        r.fill()
        r.commit()


RING = ring()
PRODUCE = produce(RING)
BAD = [
    *(
        None,
        -1,
        1 << 70,
        1.5,
        float("nan"),
        True,
        "x",
        "",
        b"x",
        (),
        (1,),
        ("a", "b"),
        [],
        [None],
        {},
        {1: 2},
    ),
    *(
        object(),
        len,
        symbol("s"),
        SmemAllocation("z", 8),
        NamedBarrier(1, 32),
        PipelineConfig(1),
        ring("other"),
    ),
]


def inside(body):
    """A call within a schedule."""

    def call(**given):
        q = ring("inner")

        @schedule
        def work(q, mbarrier, group):
            body(q, mbarrier, group, **given)

        task = Task([q], [q], 0, 1, schedule=work(q, MBarrier("m", 1, 2), AsyncGroup("wgmma")))
        return TaskManager([task], {}).document

    return call


def defaults(function):
    parameters = inspect.signature(function).parameters.values()
    return {p.name: 2 if p.default is p.empty else p.default for p in parameters}


def loop(q, m, g, start, stop, step=1, **options):
    with domain_loop(start, stop, step, **options):
        pass


def task(**changes):
    given = dict(src_resources=[], dst_resources=[RING], warp_idx=0, num_warps=1, schedule=PRODUCE)
    return Task(**{**given, **changes})


def decorated(**options):
    return producer_work(**options)(lambda self, stage_info: None)


CALLS = {
    "SmemAllocation": (SmemAllocation, dict(name="a", size_bytes=8, alignment=16, dtype=None, count=1)),
    "TmemAllocation": (TmemAllocation, dict(name="a", num_columns=32)),
    "NamedBarrier": (NamedBarrier, dict(id=1, threads=64, name="b")),
    "MBarrier": (MBarrier, dict(name="m", count=1, stages=2)),
    "AsyncGroup": (AsyncGroup, dict(kind="wgmma", name="g")),
    "PipelineConfig": (PipelineConfig, defaults(PipelineConfig)),
    "resource": (
        Ring,
        dict(name="r", pipeline_config=None, space=None, storage=128, smem=(), tmem=(), stages=1, params={}),
    ),
    "aliased": (Ring, dict(name="r", smem=[SmemAllocation("q", 8)], alias="x", alias_phase=1)),
    "WorkQueue": (WorkQueue, dict(tile_scheduler_config=None, name="q", tiles=None)),
    "Task": (
        task,
        dict(
            src_resources=[],
            dst_resources=[RING],
            warp_idx=0,
            num_warps=1,
            schedule=PRODUCE,
            num_registers=None,
            name="t",
        ),
    ),
    "GmemTensor": (GmemTensor, dict(name="a", shape=(4, 4), dtype="f16", order=(0, 1), role="in")),
    "Kernel": (
        Kernel,
        dict(name="k", tensors=(), parameters={}, symbols={}, grid=1, reference="", sizes={}, small_sizes={}),
    ),
    "symbol": (symbol, dict(name="k", min=0)),
    "ceil_div": (ceil_div, dict(numerator=4, denominator=2)),
    "PipelineGroup": (
        lambda members, mode: PipelineGroup(members=members, mode=mode),
        dict(members=[ring()], mode="Merge"),
    ),
    "schedule": (schedule, dict(function=lambda: None)),
    "producer_work": (
        decorated,
        dict(engine="tma", view=False, returns=(), work_attrs=WorkAttr.NONE, tx=None, body=None, params=None),
    ),
    "add": (lambda it: SmemAllocator().add(it), dict(it=SmemAllocation("e", 8))),
    "add_resource": (lambda it: TmemAllocator().add_resource(it), dict(it=ring())),
    "add_alias_group": (lambda it: SmemAllocator().add_alias_group(it), dict(it=[[], []])),
    "TaskManager": (
        lambda **given: TaskManager(**{"tasks": [task()], **given}).document,
        dict(
            resource_dependency_graph={},
            smem_allocator=None,
            tmem_allocator=None,
            target="sm_90a",
            cluster=(1, 1, 1),
            kernel=None,
            name="",
            resources=(),
            symbols=(),
            smem_capacity_bytes=None,
            tmem_capacity_columns=None,
        ),
    ),
    "tasks": (lambda tasks: TaskManager(tasks, {}).document, dict(tasks=[])),
    "domain_loop": (inside(loop), dict(start=0, stop=3, step=1, unroll=None, name=None)),
    "bound": (inside(lambda q, m, g, stop: loop(q, m, g, 0, stop)), dict(stop=3)),
    "elect_warp": (inside(lambda q, m, g, warp: elect_warp(warp).__enter__()), dict(warp=0)),
    "work_tile_loop": (
        inside(lambda q, m, g, wq, **more: work_tile_loop(wq, **more).__enter__()),
        dict(wq=WorkQueue(name="wq"), skip_if=None, tiles=2, name="t"),
    ),
    "MBarrier.wait": (inside(lambda q, m, g, **given: m.wait(**given)), dict(parity=0, stage=1)),
    "MBarrier.try_wait": (
        inside(lambda q, m, g, **given: m.try_wait(**given)),
        dict(phase=0, stage=1, results=None),
    ),
    "MBarrier.arrive": (inside(lambda q, m, g, **given: m.arrive(**given)), dict(count=1, stage=1)),
    "arrive_expect_tx": (
        inside(lambda q, m, g, **given: m.arrive_expect_tx(**given)),
        dict(bytes=1, stage=1),
    ),
    "AsyncGroup.wait": (inside(lambda q, m, g, **given: g.wait(**given)), dict(n=0)),
    "work": (inside(lambda q, m, g, **given: q.fill(**given)), dict(value=1, tx=None, results=None)),
    "stage": (inside(lambda q, m, g, **given: Ring(name="plain", storage=8).fill(**given)), dict(stage=0)),
    "when_true": (inside(lambda q, m, g, **given: when_true(**given).__enter__()), dict(cond="c", key=None)),
    "every": (
        inside(lambda q, m, g, **given: domain_loop(3).__enter__().every(**given).__enter__()),
        dict(period=1, start=0),
    ),
    "named_loop": (inside(lambda q, m, g, name: named_loop(name).first_iter().__enter__()), dict(name="k")),
    "named_token": (inside(lambda q, m, g, name: q.fill(value=named_token(name))), dict(name="k")),
} | {
    name: (getattr(core, name), defaults(getattr(core, name)))
    for name in core.__all__
    if name.startswith("create_")
}
CALLS["TileSchedulerConfig"] = (
    core.TileSchedulerConfig,
    dict(tile_scheduler_type=TileSchedulerType.StaticPersistent),
)


def used(made):
    """Whatever a call made, in a document that is verified, stored and written back."""
    if isinstance(made, Task):
        made = TaskManager([made], {}).document
    if isinstance(made, PipelineConfig):
        made = MemoryResource(name="r", pipeline_config=made)
    if isinstance(made, MemoryResource | MBarrier | NamedBarrier | AsyncGroup):
        if isinstance(made, PipelineGroup):
            return
        made = TaskManager([], {}, resources=[made]).document
    if isinstance(made, Document):
        verify(made, budget=2)
        dumps(made)
        to_python(made)


@pytest.mark.parametrize(("name", "argument"), [(n, a) for n, (_, base) in CALLS.items() for a in base])
def test_bad_arguments_are_refused_where_they_are_given(name, argument):
    function, base = CALLS[name]
    for bad in BAD:
        try:
            used(function(**{**base, argument: bad}))
        except ScheduleError as error:
            assert str(error).partition(": ")[0].startswith((__file__, "<string>")), (bad, str(error))


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_right_without(name):
    function, base = CALLS[name]
    if name == "PipelineGroup":
        base = {**base, "members": [ring()]}
    used(function(**base))


def test_swapped_arguments_of_a_schedule():
    @schedule
    def both(resource, gate):
        resource.acquire()
        gate.wait()

    with pytest.raises(ScheduleError, match=r"a MBarrier has no acquire\(\); are the arguments") as error:
        both(MBarrier("gate", 1), ring())
    assert str(error.value).startswith(__file__)


def test_works_outside_of_a_schedule_and_nested_ones():
    with pytest.raises(ScheduleError, match="belongs inside a function decorated with @schedule"):
        ring().acquire()
    with pytest.raises(ScheduleError, match="belongs inside"):
        MBarrier("m", 1).wait()
    with pytest.raises(ScheduleError, match="inside another"):
        schedule(lambda: produce(ring()))()


def test_running_a_manager():
    with pytest.raises(ScheduleError, match=r"run\(\) takes what prepare\(\) gave"):
        TaskManager([task()], {}).run()
