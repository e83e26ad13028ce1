"""Schedules in the shapes of NVIDIA's tutorials, in our own words: only the import lines are ours."""

from types import SimpleNamespace

from warpdraft.core import (
    LAST_ITER,
    Every,
    MemoryResource,
    OpaqueCondition,
    PipelineConfig,
    SmemAllocation,
    SmemAllocator,
    StageInfo,
    Task,
    TaskLocalVariable,
    TaskManager,
    TileSchedulerConfig,
    TmemAllocation,
    TmemAllocator,
    WorkAttr,
    WorkQueue,
    WorkTileInfo,
    consumer_work,
    domain_loop,
    producer_work,
    schedule,
    verify,
    when_true,
    work_tile_loop,
)

F16 = SimpleNamespace(width=16)


class Source(MemoryResource):
    item: TaskLocalVariable = TaskLocalVariable.uninitialized()

    @consumer_work(returns=(item,))
    def read_item(self, stage_info: StageInfo) -> object: ...


class Target(MemoryResource):
    @producer_work
    def write_item(self, stage_info: StageInfo, *, item: object) -> None: ...


def copy(loop, resources=(), name="copy"):
    source, target = Source(name="source"), Target(name="target")

    @schedule
    def copy_schedule(source: MemoryResource, target: MemoryResource, *others) -> None:
        def step():
            item = source.read_item()
            target.write_item(item=item)

        loop(step, *others)

    task = Task(
        src_resources=[source, *resources],
        dst_resources=[target],
        warp_idx=0,
        num_warps=4,
        schedule=copy_schedule(source, target, *resources),
        name=name,
        debug_print=False,
    )
    return TaskManager(tasks=[task], resource_dependency_graph={target: [source]}, verbose=False)


def test_a_grid_stride_copy():
    def loop(step):
        with domain_loop(lambda: 0, lambda: 128, lambda: 4):
            step()

    assert verify(copy(loop).document).verdict == "safe"


def trip_count():
    """Of a sequence of unknown length; a running kernel computes it."""


def test_a_domain_that_a_function_gives():
    def loop(step):
        with domain_loop(0, trip_count, 1, unroll=1):
            step()

    document = copy(loop).document
    assert [s.name for s in document.symbols] == ["trip_count"]
    report = verify(document)
    assert (report.verdict, report.scope.kind) == ("safe", "all")


class SkippingQueue(WorkQueue):
    def skip_work_tile_if(self, work_tile: WorkTileInfo) -> bool: ...


def test_a_persistent_copy_that_skips_tiles():
    queue = SkippingQueue(
        TileSchedulerConfig.create_static_persistent_tile_scheduler_params(object()), name="queue"
    )

    def loop(step, wq):
        wq.init_work_tile()
        with work_tile_loop(wq, skip_if=SkippingQueue.skip_work_tile_if) as tiles:
            with tiles.skippable(), domain_loop(0, 1, 1):
                step()
            wq.get_and_advance_work_tile()

    document = copy(loop, [queue]).document
    assert document.tasks[0].body[1].skip_if == "SkippingQueue.skip_work_tile_if"
    assert verify(document).verdict == "safe"


def test_a_predicate_looked_up_on_the_queue():
    queue = SkippingQueue(TileSchedulerConfig(), name="queue")

    def loop(step, wq):
        wq.init_work_tile()
        with work_tile_loop(wq, skip_if=wq.skip_work_tile_if) as tiles:
            with tiles.skippable():
                step()
            wq.get_and_advance_work_tile()

    assert copy(loop, [queue]).document.tasks[0].body[1].skip_if == "SkippingQueue.skip_work_tile_if"


def test_conditions_and_iteration_predicates():
    def loop(step):
        with domain_loop(0, 8) as k:
            with when_true(OpaqueCondition("busy")):
                step()
            with when_true(OpaqueCondition("busy", negated=True)):
                step()
            with when_true(Every(2)), when_true(LAST_ITER):
                step()
            with k.every(2, start=1):
                step()

    guards = copy(loop).document.tasks[0].body[0].body
    assert [(g.kind.value, g.key) for g in guards[:2]] == [("when_true", "busy"), ("when_false", "busy")]


class Operands(MemoryResource):
    def get_smem_requirements(self):
        return [SmemAllocation("operands", dtype=F16, count=3 * 4096, alignment=1024)]

    @producer_work(work_attrs=WorkAttr.AUXILIARY)
    def init_state(self, stage_info: StageInfo) -> None: ...

    @producer_work
    def load(self, stage_info: StageInfo, coord: object) -> None: ...

    @consumer_work(returns=("descriptor",))
    def build_descriptor(self, stage_info: StageInfo) -> object: ...


class Coordinates(MemoryResource):
    @consumer_work
    def compute_coords(self, stage_info: StageInfo) -> object: ...


class Accumulators(MemoryResource):
    def get_tmem_requirements(self):
        return [TmemAllocation("accumulators", num_columns=128)]

    @producer_work
    def mma(self, stage_info: StageInfo, descriptor: object) -> None: ...

    @consumer_work
    def load_acc(self, stage_info: StageInfo) -> object: ...


class Output(MemoryResource):
    @producer_work
    def store(self, stage_info: StageInfo, acc: object) -> None: ...


def gemm():
    """Bulk copies, tensor cores and an epilogue, without persistence."""
    threads = SimpleNamespace(size=1)
    gmem = Coordinates(name="gmem")
    smem = Operands(
        name="smem",
        pipeline_config=PipelineConfig.create_tma_umma_pipeline_cfg(3, 8192, threads, threads, (1, 1, 1, 1)),
    )
    tmem = Accumulators(
        name="tmem",
        pipeline_config=PipelineConfig.create_umma_async_pipeline_cfg(
            num_stages=1,
            producer_group=threads,
            consumer_group=SimpleNamespace(size=128),
            cta_layout_vmnk=(1, 1, 1, 1),
        ),
    )
    out = Output(name="out")

    @schedule
    def load_schedule(gmem, smem):
        smem.init_state()
        with domain_loop(0, 8, 1):
            coord = gmem.compute_coords()
            smem.try_acquire()
            smem.acquire()
            smem.load(coord=coord)
            smem.commit()

    @schedule
    def mma_schedule(smem, tmem):
        tmem.try_acquire()
        tmem.acquire()
        with domain_loop(0, 8, 1):
            smem.try_wait()
            smem.wait()
            descriptor = smem.build_descriptor()
            tmem.mma(descriptor=descriptor)
            smem.release()
        tmem.commit()

    @schedule
    def store_schedule(tmem, out):
        with domain_loop(0, 8, 1):
            pass
        tmem.try_wait()
        tmem.wait()
        acc = tmem.load_acc()
        out.store(acc=acc)
        tmem.release()

    allocator, columns = SmemAllocator(), TmemAllocator()
    allocator.add_resource(smem)
    allocator.add_tmem_ptr(SmemAllocation("tmem_ptr", size_bytes=4, alignment=4))
    columns.add_resource(tmem)
    allocator.compute_layout()
    columns.compute_layout()
    tasks = [
        Task([gmem], [smem], 4, 1, schedule=load_schedule(gmem, smem), num_registers=40, name="Load"),
        Task([smem], [tmem], 5, 1, schedule=mma_schedule(smem, tmem), num_registers=40, name="Mma"),
        Task([tmem], [out], 0, 4, schedule=store_schedule(tmem, out), num_registers=160, name="Store"),
    ]
    graph = {smem: [gmem], tmem: [smem], out: [tmem]}
    return TaskManager(
        tasks,
        graph,
        smem_allocator=allocator,
        tmem_allocator=columns,
        target="sm_100a",
        smem_capacity_bytes=200 * 1024,
    ).document


def test_a_tensor_core_gemm():
    report = verify(gemm())
    assert report.verdict != "unsafe", [(f.code, f.message) for f in report.errors]
