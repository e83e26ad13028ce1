"""Pipeline groups: members that share a side, in the shape of NVIDIA's merge examples."""

import pytest

from warpdraft.core import (
    MemoryResource,
    PipelineConfig,
    PipelineGroup,
    PipelineGroupMode,
    ScheduleError,
    SmemAllocation,
    SmemAllocator,
    Task,
    TaskManager,
    WorkAttr,
    consumer_work,
    domain_loop,
    fence_proxy_async,
    producer_work,
    schedule,
    symbol,
    to_python,
    verify,
)
from warpdraft.core.equality import equal_schedules

N = symbol("n")


class Operand(MemoryResource):
    @producer_work(work_attrs=WorkAttr.AUXILIARY)
    def init_state(self, stage_info): ...

    @producer_work
    def load(self, stage_info): ...

    @consumer_work
    def consume(self, stage_info): ...


class Sink(MemoryResource):
    @producer_work
    def store(self, stage_info): ...


def operand(name, stages=3, tma=True):
    kind = "TmaAsync" if tma else "AsyncAsync"
    config = PipelineConfig(stages, pipeline_type=kind)
    return Operand(name=name, pipeline_config=config, smem=[SmemAllocation(name, 1024)])


def manager(mode, drive, mixed=True, config=None):
    """Two producers, one consumer that does ``drive(a, b, group)`` in each iteration."""
    a, b, sink = operand("smem_a"), operand("smem_b", tma=not mixed), Sink(name="sink")
    group = PipelineGroup(name="ab_sync", members=[a, b], mode=mode, pipeline_config=config)
    allocator = SmemAllocator()
    allocator.add_resource(a)
    allocator.add_resource(b)
    allocator.add_pipeline_group(group)

    @schedule
    def load(smem):
        smem.init_state()
        with domain_loop(0, N, 1):
            smem.try_acquire()
            smem.acquire()
            smem.load()
            smem.commit()

    @schedule
    def store(first, second, out, both):
        with domain_loop(0, N, 1):
            drive(first, second, both)
            out.store()

    tasks = [
        Task([], [a], 4, 1, schedule=load(group.smem_a), name="load_a"),
        Task([], [b], 5, 1, schedule=load(group.smem_b), name="load_b"),
        Task([a, b], [sink], 0, 4, schedule=store(group.smem_a, group.smem_b, sink, group), name="store"),
    ]
    return TaskManager(tasks, {a: [], b: [], sink: [a, b]}, smem_allocator=allocator)


def merged(first, second, both):
    first.try_wait()
    first.wait()
    second.try_wait()
    second.wait()
    first.consume()
    second.consume()
    fence_proxy_async()
    both.release()


def fused(first, second, both):
    both.try_wait()
    both.wait()
    first.consume()
    second.consume()
    fence_proxy_async()
    both.release()


@pytest.mark.parametrize(
    ("mode", "drive"), [(PipelineGroupMode.Merge, merged), (PipelineGroupMode.FusedMerge, fused)]
)
@pytest.mark.parametrize("mixed", [False, True])
def test_a_group_does_what_its_members_would(mode, drive, mixed):
    document = manager(mode, drive, mixed).document
    report = verify(document)
    assert report.verdict == "safe", [(f.code, f.message) for f in report.findings]
    assert [r.name for r in document.resources if r.pipeline] == ["smem_a", "smem_b"]
    releases = [o.target for o in document.tasks[2].body[0].body if o.kind == "release"]
    assert releases == ["ab_sync"]
    (group,) = document.pipeline_groups
    assert (group.name, group.mode, group.members) == ("ab_sync", mode, ("smem_a", "smem_b"))
    assert report.scope.kind == "all"


def test_a_fork_hands_one_fill_to_several_consumers():
    a, b, sinks = operand("smem_a"), operand("smem_b"), [Sink(name="sink_a"), Sink(name="sink_b")]
    group = PipelineGroup(name="both", members=[a, b], mode="Fork")

    @schedule
    def load(first, second, both):
        with domain_loop(0, N):
            first.acquire()
            second.acquire()
            first.load()
            second.load()
            both.commit()

    @schedule
    def use(smem, out):
        with domain_loop(0, N):
            smem.wait()
            smem.consume()
            fence_proxy_async()
            smem.release()
            out.store()

    tasks = [
        Task([], [a, b], 0, 1, schedule=load(group.smem_a, group.smem_b, group), name="load"),
        Task([a], [sinks[0]], 4, 4, schedule=use(a, sinks[0]), name="use_a"),
        Task([b], [sinks[1]], 8, 4, schedule=use(b, sinks[1]), name="use_b"),
    ]
    found = TaskManager(tasks, {a: [], b: [], sinks[0]: [a], sinks[1]: [b]}).document
    report = verify(found)
    assert (report.verdict, report.scope.kind) == ("safe", "all"), report.findings
    written = to_python(found)
    assert "both.commit()" in written and equal_schedules(found, captured(written))


def captured(source):
    made = {}
    exec(source, made)
    return made["build"]().document


@pytest.mark.parametrize("mode", list(PipelineGroupMode)[::2])
@pytest.mark.parametrize("config", [None, PipelineConfig(3, num_bytes=2048, pipeline_type="TmaAsync")])
def test_groups_are_written_back(mode, config):
    found = manager(mode, fused if mode == "FusedMerge" else merged, mixed=False, config=config).document
    assert found.pipeline_groups[0].pipeline == (config and config.record())
    assert equal_schedules(found, captured(to_python(found)))


def test_a_release_too_early_is_found():
    def early(first, second, both):
        first.wait()
        second.wait()
        first.consume()
        both.release()
        second.consume()

    assert {"WD105", "WD403"} & {f.code for f in verify(manager("Merge", early).document).errors}


def wrong_release(a, b, g):
    a.wait()
    b.wait()
    a.consume()
    b.consume()
    fence_proxy_async()
    a.release()
    b.release()


def wrong_wait(a, b, g):
    g.wait()
    a.consume()
    b.consume()
    fence_proxy_async()
    g.release()


def members_wait(a, b, g):
    a.wait()
    b.wait()
    a.consume()
    b.consume()
    fence_proxy_async()
    g.release()


@pytest.mark.parametrize(
    ("mode", "drive", "says"),
    [
        (
            "Merge",
            wrong_release,
            "store calls release of smem_a and smem_b, but in a Merge group it is that of ab_sync",
        ),
        ("Merge", wrong_wait, "store calls wait of ab_sync, but in a Merge group it is that of each member"),
        (
            "FusedMerge",
            members_wait,
            "store calls wait of smem_a and smem_b, but in a FusedMerge group it is that of ab_sync",
        ),
    ],
)
def test_group_and_member_mixed_up_is_a_finding(mode, drive, says):
    report = verify(manager(mode, drive).document)
    assert [f.message for f in report.findings if f.code == "WD216"] == [says]


def test_a_group_has_no_works():
    with pytest.raises(ScheduleError, match="the group 'ab_sync' has no work load") as error:
        manager("Merge", lambda a, b, g: g.load())
    assert str(error.value).startswith(__file__)


@pytest.mark.parametrize(
    ("members", "mode", "says"),
    [
        ([], "Merge", "at least one member"),
        (None, "Merge", "at least one member"),
        ([operand("a"), operand("b", stages=2)], "Merge", "one number of stages, not a 3, b 2"),
        ([MemoryResource(name="plain")], "Merge", "'plain' has no pipeline"),
        ([3], "Merge", "has no pipeline"),
        ([operand("a")], "Split", "one of Merge, Fork, FusedMerge"),
    ],
)
def test_groups_that_are_none(members, mode, says):
    with pytest.raises(ScheduleError, match=says):
        PipelineGroup(name="g", members=members, mode=mode)


def test_a_member_belongs_to_one_group():
    a = operand("a")
    PipelineGroup(name="g", members=[a])
    with pytest.raises(ScheduleError, match="already belongs"):
        PipelineGroup(name="h", members=[a])
