"""The introductory skeleton of Task Scheduling: only imports, a pipeline config and a consumer of the ring are added."""

import pytest

from warpdraft.core import (
    AsyncGroup,
    MemoryResource,
    NamedBarrier,
    ScheduleError,
    SmemAllocation,
    Task,
    TaskManager,
    consumer_work,
    create_tma_async_pipeline_cfg,
    domain_loop,
    elect_warp,
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
)

num_k_tiles = symbol("num_k_tiles")
smem_a_pipeline_config = create_tma_async_pipeline_cfg(
    num_stages=3, num_bytes=16384, producer_group=1, consumer_group=4
)


class GmemAResource(MemoryResource):
    @consumer_work
    def compute_coords(self, stage_info): ...


class SmemAResource(MemoryResource):
    @producer_work
    def tma_load_a(self, stage_info, coord_k, coord_m): ...

    @consumer_work
    def read_a(self, stage_info): ...


@schedule
def load_a_schedule(gmem_a: GmemAResource, smem_a: SmemAResource) -> None:
    with domain_loop(0, num_k_tiles, 1):
        coord_k, coord_m, coord_n = gmem_a.compute_coords()  # noqa: RUF059 - three, as the introduction has them
        smem_a.acquire()
        smem_a.tma_load_a(coord_k=coord_k, coord_m=coord_m)
        smem_a.commit()


@schedule
def use_a_schedule(smem_a):
    with domain_loop(0, num_k_tiles, 1):
        smem_a.wait()
        smem_a.read_a()
        fence_proxy_async()
        smem_a.release()


def build(with_consumer):
    gmem_a = GmemAResource(name="gmem_a")
    smem_a = SmemAResource(name="smem_a", pipeline_config=smem_a_pipeline_config)
    resource_dependency_graph = {smem_a: [gmem_a]}
    load_a_task = Task(
        name="load_a",
        src_resources=[gmem_a],
        dst_resources=[smem_a],
        warp_idx=0,
        num_warps=1,
        schedule=load_a_schedule(gmem_a, smem_a),
    )
    tasks = [load_a_task]
    if with_consumer:
        tasks.append(Task([smem_a], [], 4, 4, schedule=use_a_schedule(smem_a), name="use_a"))
    return TaskManager(tasks=tasks, resource_dependency_graph=resource_dependency_graph)


def test_it_builds_as_written():
    (task,) = build(with_consumer=False).document.tasks
    loop = task.body[0]
    assert [op.id for op in loop.body] == ["load_a.02", "load_a.03", "load_a.04", "load_a.05"]
    assert loop.body[0].results == ("coord_k", "coord_m", "coord_n")
    assert [key for key, _ in loop.body[2].args] == ["coord_k", "coord_m"]


def test_alone_it_waits_for_a_consumer_that_nobody_is(capsys):
    with pytest.raises(ScheduleError, match="unsafe") as error:
        build(with_consumer=False).print_and_verify()
    assert "WD302" in {f.code for f in error.value.findings}
    printed = capsys.readouterr().out
    assert "task load_a: warp 0" in printed
    assert "tma_load_a" in printed


def test_with_a_consumer_it_is_safe(capsys):
    report = build(with_consumer=True).print_and_verify()
    assert report.verdict == "safe"
    assert "safe" in capsys.readouterr().out


class SmemAB(MemoryResource):
    @producer_work(engine="tma")
    def load_a(self, stage_info, coord_k, coord_m): ...

    @producer_work(engine="tma")
    def load_b(self, stage_info, coord_k, coord_n): ...

    @consumer_work(view=True, returns="tiles")
    def tiles(self, stage_info): ...


class Accumulator(MemoryResource):
    @producer_work(engine="wgmma")
    def mma(self, stage_info, tiles): ...

    @consumer_work(returns="fragment")
    def read(self, stage_info, subtile): ...


class SmemC(MemoryResource):
    @producer_work
    def store(self, stage_info, fragment, subtile): ...

    @consumer_work(view=True, returns="staged")
    def staged(self, stage_info): ...


class GmemC(MemoryResource):
    @producer_work(engine="bulk_store")
    def bulk_store(self, stage_info, staged, subtile): ...


k_tiles = symbol("k_tiles", min=1)


@schedule
def load(coords, smem_ab):
    with domain_loop(0, k_tiles):
        coord_k, coord_m, coord_n = coords.compute_coords()
        smem_ab.acquire()
        smem_ab.load_a(coord_k, coord_m)
        smem_ab.load_b(coord_k, coord_n)
        smem_ab.commit()


@schedule
def math(smem_ab, acc, smem_c, gmem_c, mma_group, store_group, epilogue_barrier):
    with domain_loop(0, k_tiles) as k:
        smem_ab.wait()
        acc.mma(tiles=smem_ab.tiles())
        mma_group.commit()
        mma_group.wait(1)
        with k.every(1, start=1):
            smem_ab.release()
    mma_group.wait(0)
    smem_ab.release()
    for subtile in range(4):
        smem_c.store(fragment=acc.read(subtile=subtile), subtile=subtile, stage=subtile % 2)
        fence_proxy_async()
        epilogue_barrier.sync()
        with elect_warp(0):
            gmem_c.bulk_store(staged=smem_c.staged(stage=subtile % 2), subtile=subtile)
            store_group.commit(); store_group.wait_read(1)  # fmt: skip  # noqa: E702 - as the interface's page has it
        epilogue_barrier.sync()
    with elect_warp(0):
        store_group.wait_read(0)


def test_the_whole_consumer_task_of_the_interface_is_safe():
    coords, acc, gmem_c = (
        GmemAResource(name="coords"),
        Accumulator(name="acc", space="rmem"),
        GmemC(name="gmem_c"),
    )
    config = create_tma_async_pipeline_cfg(num_stages=4, num_bytes=49152, advance_on_wait=True)
    smem_ab = SmemAB(name="smem_ab", pipeline_config=config)
    smem_c = SmemC(name="smem_c", smem=[SmemAllocation("c", size_bytes=16384)], stages=2)
    groups = AsyncGroup("wgmma"), AsyncGroup("bulk_store")
    tasks = [
        Task([coords], [smem_ab], 0, 1, schedule=load(coords, smem_ab)),
        Task(
            [smem_ab, acc, smem_c],
            [acc, smem_c, gmem_c],
            4,
            8,
            schedule=math(smem_ab, acc, smem_c, gmem_c, *groups, NamedBarrier(1, 256)),
        ),
    ]
    graph = {smem_ab: [coords], acc: [smem_ab], smem_c: [acc], gmem_c: [smem_c]}
    manager = TaskManager(tasks, graph)
    assert [g.name for g in manager.document.groups] == ["mma_group", "store_group"]
    report = manager.verify()
    assert (report.verdict, report.findings) == ("safe", ())
