"""What annotations make of a document, and that the document says them again."""

from dataclasses import replace

import pytest

from warpdraft.backends.nvidia_ts.annotations import (
    Access,
    Annotations,
    Barrier,
    Bound,
    Sync,
    WorkAnnotation,
)
from warpdraft.backends.nvidia_ts.apply import apply_annotations
from warpdraft.backends.nvidia_ts.writing.bodies import split
from warpdraft.core.assumptions import by_default
from warpdraft.core.document import (
    WHOLE,
    Document,
    Engine,
    Footprint,
    Guard,
    GuardKind,
    Loop,
    Op,
    OpKind,
    Pipeline,
    Resource,
    Space,
    Storage,
    Task,
    Work,
)
from warpdraft.core.edits.works import SetWork
from warpdraft.core.expressions import symbol
from warpdraft.core.tree import find_resource, find_work
from warpdraft.core.verify import verify

S = OpKind


def imported():
    """A ring that threads fill and a task of two warps stores from, as an import gives it."""
    smem = Resource(
        "smem",
        Space.SMEM,
        Pipeline(2, "AsyncAsync", producer_count=32, consumer_count=64),
        Storage(1024, 2),
        works=(
            Work("fill", "producer", assumed=True),
            Work("put", "consumer", parameters=("n",), assumed=True),
        ),
    )
    other = Resource(
        "other", Space.SMEM, storage=Storage(64), works=(Work("write", "producer", assumed=True),)
    )
    fill = (Op("a.2", S.ACQUIRE, "smem"), Op("a.3", S.WORK, "smem", "fill"), Op("a.4", S.COMMIT, "smem"))
    use = (
        Op("b.2", S.WAIT, "smem"),
        Op("b.3", S.WORK, "smem", "put", (("n", 0),)),
        Op("b.4", S.WORK, "smem", "put", (("n", 1),)),
        Op("b.5", S.RELEASE, "smem"),
    )
    k = symbol("k")
    tasks = (
        Task("a", 0, 1, (Loop("a.1", "domain", "k", fill, stop=k),), dst=("smem",)),
        Task("b", 1, 2, (Loop("b.1", "domain", "k", use, stop=k),), src=("smem",)),
    )
    return Document("d", symbols=(k,), resources=(smem, other), tasks=tasks)


def applied(barriers=None, symbols=None, **works):
    said = {name.replace("__", "."): work for name, work in works.items()}
    return apply_annotations(imported(), Annotations(said, barriers or {}, symbols or {}))


def body(document):
    return document.tasks[1].body[0].body


def kinds(nodes):
    return [n.kind.value for n in nodes]


def test_nothing_said_nothing_changes():
    assert apply_annotations(imported(), Annotations()) == imported()
    assert by_default(imported()) == ("smem.fill", "smem.put")


def test_what_a_work_touches():
    found = applied(
        smem__put=WorkAnnotation(engine=Engine.BULK_STORE), smem__fill=WorkAnnotation(writes=(Access(),))
    )
    smem = find_resource(found, "smem")
    assert find_work(smem, "put").engine is Engine.BULK_STORE and find_work(smem, "fill").footprint == WHOLE
    assert by_default(found) == ()
    doubtful = applied(smem__put=WorkAnnotation(engine=Engine.WARP, undecided=("line 3",)))
    assert by_default(doubtful) == ("smem.fill", "smem.put")


@pytest.mark.parametrize(
    "access, expected",
    [
        (Access(slices=True), [Footprint("warp_slice", 0, 1024)] * 2),
        (Access(offset=64, bytes=64), [Footprint("range", 64, 64)] * 2),
        (Access(offset="n * 512", bytes=512), [Footprint("range", 0, 512), Footprint("range", 512, 512)]),
        (
            Access(offset="n * 512", bytes=512, slices=True),
            [Footprint("warp_slice", 512 * n, 512) for n in (0, 1)],
        ),
        (Access(offset="warp * 512", bytes=256), [Footprint("ranges", ranges=((0, 256), (512, 256)))] * 2),
        (Access(offset="stage * 256", bytes=256), [Footprint("range", 0, 512)] * 2),
    ],
)
def test_ranges(access, expected):
    found = applied(smem__put=WorkAnnotation(reads=(access,)))
    work = find_work(find_resource(found, "smem"), "put")
    assert [op.footprint or work.footprint for op in body(found)[1:3]] == expected


def test_a_work_of_one_warp_and_one_that_only_synchronises():
    found = applied(
        smem__put=WorkAnnotation(warp=0),
        smem__fill=WorkAnnotation(only_sync=True, sync=(Sync(S.CLUSTER_SYNC),)),
    )
    (guard,) = body(found)[1:-1]  # both calls in one
    assert isinstance(guard, Guard) and (guard.kind, guard.warp, len(guard.body)) == (
        GuardKind.ELECT_WARP,
        0,
        2,
    )
    assert kinds(found.tasks[0].body[0].body) == ["acquire", "cluster_sync", "commit"]
    assert [w.name for w in find_resource(found, "smem").works] == ["put"]


def test_accesses_of_other_resources():
    found = applied(
        other__write=WorkAnnotation(),
        smem__put=WorkAnnotation(
            engine=Engine.BULK_STORE, reads=(Access("other"),), writes=(Access("other", offset=0, bytes=32),)
        ),
    )
    bare, said = split(found)
    work = said.works["smem.put"]
    assert [a.resource for a in work.reads] == ["other"] and [(a.resource, a.bytes) for a in work.writes] == [
        ("other", 32)
    ]
    assert set(said.works) == {"smem.fill", "smem.put", "other.write"}
    assert bare.tasks[1].body[0].body == imported().tasks[1].body[0].body


def test_the_document_says_its_annotations_again():
    said = Annotations(
        {
            "smem.fill": WorkAnnotation(
                engine=Engine.CP_ASYNC, writes=(Access(offset=0, bytes=512),), tx=None
            ),
            "smem.put": WorkAnnotation(
                engine=Engine.BULK_STORE,
                warp=0,
                reads=(Access(offset="n * 512", bytes=512),),
                sync=(
                    Sync(S.FENCE_PROXY_ASYNC, "before"),
                    Sync(S.GROUP_COMMIT, group=Engine.BULK_STORE, warp=0),
                    Sync(S.BARRIER_SYNC, barrier="meet"),
                ),
            ),
            "other.write": WorkAnnotation(),
        },
        {"meet": Barrier(1, 64)},
        {"k": Bound(min=1)},
    )
    bare, again = split(apply_annotations(imported(), said))
    assert again == said
    assert bare.tasks[1].body[0].body == imported().tasks[1].body[0].body


def test_an_edit_is_a_statement():
    document = SetWork("smem", "fill", "engine", Engine.CP_ASYNC).apply(imported())
    assert by_default(document) == ("smem.put",)
    assert by_default(SetWork("smem", "put", "returns", ("x",)).apply(document)) == ("smem.put",)
    _, said = split(document)
    assert said.works["smem.fill"] == WorkAnnotation(engine=Engine.CP_ASYNC)
    assert said.works["smem.put"].undecided


def test_a_store_without_its_wait():
    commit = Sync(S.GROUP_COMMIT, group=Engine.BULK_STORE)
    wait = replace(commit, op=S.GROUP_WAIT_READ)
    fence = WorkAnnotation(sync=(Sync(S.FENCE_PROXY_ASYNC),))
    for sync, expected in (((commit,), "unsafe"), ((commit, wait), "safe")):
        found = applied(smem__fill=fence, smem__put=WorkAnnotation(engine=Engine.BULK_STORE, sync=sync))
        report = verify(found)
        assert report.verdict == expected and ("WD403" in {f.code for f in report.errors}) is (
            expected == "unsafe"
        )
