"""Resources, memory and pipelines as the document holds them."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from warpdraft.core import (
    GmemTensor,
    Kernel,
    MemoryResource,
    PdlWaitBarrier,
    PipelineConfig,
    PipelineOp,
    ScheduleError,
    Signal,
    SignalingThreads,
    SmemAllocation,
    SmemAllocator,
    Task,
    TaskLocalVariable,
    TaskManager,
    TmemAllocation,
    WorkAttr,
    consumer_work,
    create_async_async_pipeline_cfg,
    create_tma_async_pipeline_cfg,
    create_tma_umma_pipeline_cfg,
    create_umma_async_pipeline_cfg,
    producer_work,
    schedule,
    symbol,
)
from warpdraft.core.document import WARP_SLICE, Engine, Footprint, Part, Storage


def record(resource, *others, **manager):
    """``resource`` as the document holds it."""
    manager.setdefault("resources", [resource, *others])
    return TaskManager([], {}, **manager).document.resources[0]


def test_a_plain_resource_has_no_storage():
    plain = record(MemoryResource(name="a"))
    assert (plain.space, plain.storage, plain.pipeline, plain.works) == ("none", None, None, ())


def test_names_follow_from_the_class():
    class SmemABRing(MemoryResource): ...

    assert record(SmemABRing()).name == "smem_abring"
    with pytest.raises(ScheduleError, match="two things are called 'a'"):
        record(MemoryResource(name="a"), MemoryResource(name="a"))


def test_sizes_given_directly_are_those_of_a_stage():
    smem = [SmemAllocation("a", size_bytes=100), SmemAllocation("b", size_bytes=32, alignment=1024)]
    ring = record(MemoryResource(name="r", pipeline_config=PipelineConfig(num_stages=3), smem=smem))
    assert ring.space == "smem"
    assert ring.storage == Storage(1056, 3, 1024, (Part("a", 0, 100), Part("b", 1024, 32)))
    alone = record(
        MemoryResource(
            name="r", smem=[SmemAllocation("c", size_bytes=64)], stages=2, alias="x", alias_phase=1
        )
    )
    assert alone.storage == Storage(64, 2, 128, alias="x", phase=1)


class Required(MemoryResource):
    def get_smem_requirements(self):
        return [SmemAllocation("a", count=96, dtype=SimpleNamespace(width=16))]


def test_required_sizes_are_totals():
    assert record(Required(name="r", pipeline_config=PipelineConfig(num_stages=3))).storage == Storage(
        64, 3, 128
    )
    with pytest.raises(ScheduleError, match="which 5 stages cannot share"):
        record(Required(name="r", pipeline_config=PipelineConfig(num_stages=5)))


def test_spaces_follow_from_what_is_known():
    tmem = MemoryResource(name="t", tmem=[TmemAllocation("acc", 256)], stages=2)
    assert (record(tmem).space, record(tmem).storage) == ("tmem", Storage(256, 2, 1, (Part("acc", 0, 256),)))
    assert record(MemoryResource(name="t", pipeline_config=create_umma_async_pipeline_cfg(2))).space == "tmem"
    assert record(MemoryResource(name="t", pipeline_config=create_tma_umma_pipeline_cfg(2))).space == "smem"
    assert record(MemoryResource(name="t", space="rmem")).space == "rmem"
    assert record(PdlWaitBarrier(name="w")).space == "pdl"


def test_alias_groups_of_the_allocator_reach_the_document():
    first, second, third = (
        MemoryResource(name=n, smem=[SmemAllocation(n, size_bytes=256)], stages=2) for n in ("a", "b", "c")
    )
    allocator = SmemAllocator()
    for resource in (first, second, third):
        allocator.add_resource(resource)
    allocator.add(SmemAllocation("scratch", size_bytes=64))
    allocator.add_alias_group([[first.smem[0]], [second.smem[0]]])
    allocator.compute_layout()
    assert allocator.total == 512 + 128 + 512  # c, scratch aligned to 128, then a and b in one place
    assert first.smem[0].offset == second.smem[0].offset
    manager = TaskManager([], {}, smem_allocator=allocator, resources=[first, second, third])
    storages = {r.name: r.storage for r in manager.document.resources}
    assert [(storages[n].alias, storages[n].phase) for n in "abc"] == [
        ("smem_alias_0", 0),
        ("smem_alias_0", 1),
        ("", 0),
    ]
    assert storages["scratch"] == Storage(64)


class Worked(MemoryResource):
    @producer_work(engine="tma", part="a", tensor="x", tile=[8, 4], body="sm90.tma_load")
    def load(self, stage_info, row): ...

    @producer_work(footprint="warp_slice", tx=12)
    def store(self, stage_info): ...

    @consumer_work(view=True, returns=("v",), footprint=(64, 32))
    def view(self, stage_info): ...

    @consumer_work(work_attrs=WorkAttr.AUXILIARY, footprint=[(0, 8), (8, 8)])
    def look(self, stage_info): ...

    @consumer_work
    def own(self, stage_info, row):
        return row + 1


def test_works():
    smem = [SmemAllocation("a", size_bytes=128), SmemAllocation("b", size_bytes=128)]
    load, store, view, look, own = record(Worked(name="w", smem=smem)).works
    assert (load.role, load.engine, load.parameters, load.footprint) == (
        "producer",
        Engine.TMA,
        ("row",),
        Footprint("range", 0, 128),
    )
    assert (load.body, load.params) == ("sm90.tma_load", (("part", "a"), ("tensor", "x"), ("tile", (8, 4))))
    assert (store.footprint, store.tx, store.body) == (WARP_SLICE, 12, "")
    assert (view.view, view.returns, view.footprint) == (True, ("v",), Footprint("range", 64, 32))
    assert (look.auxiliary, look.footprint) == (True, Footprint("ranges", ranges=((0, 8), (8, 8))))
    assert own.body.endswith(":Worked.own")
    with pytest.raises(ScheduleError, match="no part of the stage"):
        record(
            type("W", (MemoryResource,), {"w": producer_work(footprint="z")(lambda self, stage_info: None)})(
                name="w"
            )
        )


def test_decorators_refuse_what_means_nothing():
    with pytest.raises(ScheduleError, match="'warp_drive' is not a valid Engine"):
        producer_work(engine="warp_drive")(lambda self: None)
    with pytest.raises(ScheduleError, match="cannot be stored"):
        producer_work(tile=object())(lambda self: None)
    with pytest.raises(ScheduleError, match="a work cannot have this name"):
        type("W", (MemoryResource,), {"acquire": _named("acquire")})


def _named(name):
    def work(self, stage_info): ...

    work.__name__ = name
    return producer_work(work)


@dataclass(kw_only=True)
class Scheduled(MemoryResource):
    """As Task Scheduling's resources are written."""

    width: int = 4
    item: TaskLocalVariable = TaskLocalVariable.uninitialized()  # noqa: RUF009 - as Task Scheduling has it

    def __post_init__(self):
        self.item = TaskLocalVariable(dtype=int, default=0)
        self.bytes = self.width * 32

    @consumer_work(returns=item)
    def read(self, stage_info): ...

    def producer_work(self, stage_info): ...

    def get_smem_requirements(self):
        return [SmemAllocation("s", size_bytes=self.bytes)]


class Narrow(Scheduled):
    @consumer_work(returns=(Scheduled.item, "more"))
    def both(self, stage_info): ...


def test_resources_written_for_task_scheduling():
    resource = Narrow(name="s", width=8)
    assert {resource: 1}[resource] == 1  # hashed by identity

    @schedule
    def work(s):
        s.producer_work()
        s.consumer_work()
        item, more = s.both()
        s.producer_work(item=item, more=more)

    manager = TaskManager([Task([resource], [resource], 0, 1, schedule=work(resource))], {})
    (found,) = manager.document.resources
    assert found.storage == Storage(256)
    assert {w.name: (w.role, w.returns) for w in found.works} == {
        "read": ("consumer", ("item",)),
        "both": ("consumer", ("item", "more")),
        "producer_work": ("producer", ()),
        "consumer_work": ("consumer", ()),
    }


def pipeline(config):
    return record(MemoryResource(name="r", pipeline_config=config)).pipeline


def test_signals():
    leader = SignalingThreads.TaskWarpLeader
    both = pipeline(create_async_async_pipeline_cfg(2, 32, SimpleNamespace(size=128)))
    assert (both.type, both.producer_count, both.consumer_count) == ("AsyncAsync", 32, 128)
    assert (both.producer_signal, both.consumer_signal) == (Signal.THREAD, Signal.THREAD)
    led = pipeline(PipelineConfig.create_umma_async_pipeline_cfg(2, consumer_signaling_threads=leader))
    assert (led.producer_signal, led.consumer_signal) == (None, Signal.LEADER_THREADS)
    tma = pipeline(create_tma_async_pipeline_cfg(2, 0))
    assert (tma.producer_signal, tma.consumer_signal, tma.bytes) == (None, None, None)
    silent = pipeline(PipelineConfig(num_stages=2))
    assert (silent.type, silent.producer_signal, silent.consumer_signal) == ("", None, None)
    said = pipeline(PipelineConfig(num_stages=2, consumer_signaling_threads=Signal.LEADER))
    assert said.consumer_signal is Signal.LEADER
    cta = SignalingThreads.CtaLeader | leader
    paired = pipeline(
        create_tma_umma_pipeline_cfg(2, 64, producer_signaling_threads=cta, cta_layout_vmnk=(2, 1, 1, 1))
    )
    assert (paired.producer_cta_leader, paired.producer_signal, paired.cta_layout) == (
        True,
        None,
        (2, 1, 1, 1),
    )


@pytest.mark.parametrize(("count", "signal"), [(128, Signal.THREAD), (4, None), (64, None), (None, None)])
def test_a_tma_consumer_arrives_with_all_threads_only_if_its_count_says_so(count, signal):
    ring = MemoryResource(name="r", pipeline_config=create_tma_async_pipeline_cfg(2, 64, 1, count))

    @schedule
    def use(r):
        r.wait()
        r.release()

    manager = TaskManager([Task([ring], [], 0, 4, schedule=use(ring))], {})
    assert manager.document.resources[0].pipeline.consumer_signal is signal


def test_copies_that_arrive():
    class Copied(MemoryResource):
        @producer_work
        def fill(self, stage_info): ...

    config = create_async_async_pipeline_cfg(2, producer_op=PipelineOp.AsyncLoad)
    assert record(Copied(name="c", pipeline_config=config)).works[0].engine is Engine.CP_ASYNC


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (lambda: PipelineConfig(num_stages=0), "1 or more"),
        (lambda: PipelineConfig(2, producer_group="many").record(), "no arrival count"),
        (lambda: PipelineConfig(2, producer_signaling_threads=SignalingThreads(3)), "cannot be combined"),
    ],
)
def test_impossible_pipelines(config, says):
    with pytest.raises(ScheduleError, match=says):
        config()


def test_kernels():
    M, N = symbol("M"), symbol("N")
    kernel = Kernel(
        "gemm",
        tensors=[GmemTensor("a", (M, N), "dtype"), GmemTensor("c", (N, M), "fp16", (1, 0), role="out")],
        parameters={"tile": [1, 2]},
        symbols={"k": N},
        sizes={"M": 4},
    )
    assert [t.order for t in kernel.tensors] == [(0, 1), (1, 0)]
    assert (kernel.parameters, kernel.trip_counts, kernel.sizes) == (
        (("tile", (1, 2)),),
        (("k", N),),
        (("M", 4),),
    )
    assert TaskManager([], {}, kernel=kernel).document.name == "gemm"
    assert TaskManager([], {}).document.name == "test_resources"
    with pytest.raises(ScheduleError, match="each of its 2 dimensions once"):
        GmemTensor("a", (M, N), "fp16", order=(0, 0))


def test_tasks_and_managers_refuse_what_they_do_not_know():
    empty = schedule(lambda: None)()
    with pytest.raises(TypeError, match="colour"):
        Task([], [], 0, 1, schedule=empty, colour="red")
    with pytest.raises(TypeError, match="colour"):
        TaskManager([], {}, colour="red")
    with pytest.raises(ScheduleError, match="two tasks are called 'a'"):
        TaskManager([Task([], [], 0, 1, schedule=empty, name="a")] * 2, {})
    TaskManager(
        [Task([], [], 0, 1, schedule=empty, debug_print=True)], {}, skip_validation=True, verbose=False
    )
