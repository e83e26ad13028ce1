"""A work that reads several resources beside its own: each through a view, declared by the task; and taken out again."""

from warpdraft.backends.nvidia_ts.annotations import loads_annotations
from warpdraft.backends.nvidia_ts.apply import apply_annotations
from warpdraft.backends.nvidia_ts.writing.others import without_others
from warpdraft.core import (
    MemoryResource,
    Storage,
    Task,
    TaskManager,
    consumer_work,
    domain_loop,
    producer_work,
    schedule,
    symbol,
    verify,
)
from warpdraft.core.tree import find_task, ops_of

SAID = """warpdraft-annotations = 1

[works."acc.mma"]
engine = "tcgen05"
reads = [{ resource = "sfa" }, { resource = "sfb" }]
"""


class Columns(MemoryResource):
    @producer_work(engine="tcgen05_cp")
    def copy(self, stage_info): ...

    @producer_work(engine="tcgen05")
    def mma(self, stage_info): ...

    @consumer_work
    def read(self, stage_info): ...


def document():
    names = {"sfa": 0, "sfb": 32, "acc": 128}
    sfa, sfb, acc = (
        Columns(name=n, space="tmem", storage=Storage(32, 1, 1, offset=at)) for n, at in names.items()
    )

    @schedule
    def multiply(sfa, sfb, acc):
        with domain_loop(0, symbol("k")):
            sfa.copy()
            sfb.copy()
            acc.mma()

    task = Task([], [sfa, sfb, acc], 0, 1, schedule=multiply(sfa, sfb, acc), name="mma")
    return TaskManager([task], {}, name="scaled", target="sm_100a").document


def test_each_read_is_seen():
    found = apply_annotations(document(), loads_annotations(SAID))
    task = find_task(found, "mma")
    assert task.src == ("sfa", "sfb") and task.dst == ("sfa", "sfb", "acc")
    views = {o.target: o.results for o in ops_of(task) if o.results}
    (mma,) = (o for o in ops_of(task) if o.work == "mma")
    assert set(views) == {"sfa", "sfb"} and {(key,) for key, _ in mma.args} == set(views.values())
    assert {f.code for f in verify(document()).errors} == {"WD408"}
    assert not {f.code for f in verify(found).errors} & {"WD101", "WD408"}


def test_they_are_taken_out_again():
    given = document()
    plain, others = without_others(apply_annotations(given, loads_annotations(SAID)))
    (before,), (after,) = given.tasks, plain.tasks
    assert (after.src, after.dst) == (before.src, before.dst)
    assert [a.resource for a in others["acc", "mma"].reads] == ["sfa", "sfb"]
