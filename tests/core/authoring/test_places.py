"""Places of allocators: a resource of which one allocation shares bytes with others, and columns of one allocation."""

import pytest

from warpdraft.core import (
    MemoryResource,
    ScheduleError,
    SmemAllocation,
    SmemAllocator,
    Task,
    TaskManager,
    TmemAllocation,
    TmemAllocator,
    consumer_work,
    domain_loop,
    producer_work,
    schedule,
    to_python,
    verify,
)
from warpdraft.core.layout import layout
from warpdraft.core.report import render_report


class Buffer(MemoryResource):
    def __init__(self, name, *sizes):
        super().__init__(name=name)
        self.own = [SmemAllocation(f"{name}_{i}", size) for i, size in enumerate(sizes)]

    def get_smem_requirements(self):
        return self.own

    @producer_work(footprint="whole")
    def fill(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...


def built(shared, computed=True):
    """Task one fills both allocations of ``a``; task two fills ``b``, which lies over the second of them, or beside."""
    a, b = Buffer("a", 1024, 512), Buffer("b", 512)
    smem = SmemAllocator()
    smem.add(a.own[0])
    if shared:
        smem.add_alias_group([[a.own[1]], [b.own[0]]])
    else:
        smem.add(a.own[1])
        smem.add(b.own[0])
    if computed:
        smem.compute_layout()

    @schedule
    def fill(buffer):
        with domain_loop(4):
            buffer.fill()
            buffer.read()

    tasks = [Task([x], [x], 4 * i, 1, schedule=fill(x), name=f"fill_{x.name}") for i, x in enumerate((a, b))]
    return TaskManager(tasks, {}, smem_allocator=smem).document


def test_one_allocation_of_two_is_shared():
    document = built(True)
    first, second = document.resources[0].storage.parts
    assert document.resources[1].storage.offset == second.place != first.place
    report = verify(document)
    assert {f.code for f in report.errors} == {"WD402"}, render_report(document, report)
    assert verify(built(False)).verdict == "safe"
    assert layout(document).smem_bytes == 1536
    written = {}
    exec(to_python(document), written)
    assert written["build"]().document.resources[0].storage == document.resources[0].storage


def test_places_have_to_be_known():
    with pytest.raises(ScheduleError, match="only some allocations of 'a' are in an alias group"):
        built(True, computed=False)


class Columns(MemoryResource):
    def get_tmem_requirements(self):
        return [TmemAllocation(self.name, 16)]

    @producer_work(engine="tcgen05")
    def mma(self, stage_info): ...


def test_columns_of_one_allocation():
    a, b = Columns(name="a"), Columns(name="b")
    tmem = TmemAllocator()
    tmem.add_resource(a)
    tmem.add_resource(b)
    tmem.compute_layout()

    @schedule
    def both(a, b):
        a.mma()
        b.mma()

    task = Task([], [a, b], 0, 1, schedule=both(a, b))
    document = TaskManager([task], {}, tmem_allocator=tmem).document
    assert [r.storage.offset for r in document.resources] == [0, 16] and document.target == "sm_100a"
    assert "WD602" not in {f.code for f in verify(document).findings}
