"""Edits map a document to a new one, keep ids, and refuse what does not fit."""

import importlib.util
from pathlib import Path

import pytest

from warpdraft.core import edits
from warpdraft.core.consistency import problem
from warpdraft.core.document import (
    AsyncGroup,
    Edge,
    Engine,
    Footprint,
    Guard,
    GuardKind,
    NamedBarrier,
    Op,
    OpKind,
    Signal,
    Task,
    Token,
    Work,
)
from warpdraft.core.edits import EditError
from warpdraft.core.expressions import Symbol
from warpdraft.core.history import History
from warpdraft.core.tree import find_node, find_resource, find_task, ops_of, placed

_spec = importlib.util.spec_from_file_location("sample", Path(__file__).parents[1] / "app" / "sample.py")
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)


@pytest.fixture
def gemm():
    return sample.gemm()


def ids(document, parent):
    return [node.id for node in edits.body_of(document, parent)]


def every_id(document):
    return [p.node.id for p in placed(document)]


def id_of(document, task, kind, target="", nth=0):
    found = [
        op.id
        for op in ops_of(find_task(document, task))
        if op.kind is kind and (not target or op.target == target)
    ]
    return found[nth]


def loop_of(document, task, var="k"):
    return next(
        p.node.id for p in placed(document) if p.task.name == task and getattr(p.node, "var", "") == var
    )


def test_move_keeps_ids_and_undoes_itself(gemm):
    loop = loop_of(gemm, "load")
    before = ids(gemm, loop)
    moved = edits.MoveNode(before[0], loop, 5).apply(gemm)
    assert ids(moved, loop) == [*before[1:], before[0]]
    assert edits.MoveNode(before[0], loop, 0).apply(moved) == gemm
    assert sorted(every_id(moved)) == sorted(every_id(gemm))


def test_move_between_levels(gemm):
    loop, release = loop_of(gemm, "math"), id_of(gemm, "math", OpKind.RELEASE)
    moved = edits.MoveNode(release, loop, 0).apply(gemm)
    assert ids(moved, loop)[0] == release
    assert [p.id for p in find_node(moved, release).parents][-1] == loop


def test_move_all_copies_moves_each_in_its_block(gemm):
    store = id_of(gemm, "math", OpKind.WORK, "smem_c")
    place = edits.find(gemm, store)
    moved = edits.MoveNode(store, place.parent, place.index + 1, copies=True).apply(gemm)
    order = [
        op.kind
        for op in ops_of(find_task(moved, "math"))
        if op.kind is OpKind.FENCE_PROXY_ASYNC or op.work == "store"
    ]
    assert order == [OpKind.FENCE_PROXY_ASYNC, OpKind.WORK] * 4


@pytest.mark.parametrize("parent, index", [("nowhere", 0), ("load", 7), ("load", -1)])
def test_move_refuses_places_that_do_not_exist(gemm, parent, index):
    with pytest.raises(EditError):
        edits.MoveNode("load.00", parent, index).apply(gemm)


def test_a_loop_does_not_move_into_itself(gemm):
    loop = loop_of(gemm, "load", "tile")
    with pytest.raises(EditError, match="into itself"):
        edits.MoveNode(loop, loop_of(gemm, "load"), 0).apply(gemm)


def test_insert_makes_fresh_ids_for_all_nodes(gemm):
    guard = Guard("", GuardKind.ELECT_LANE, (Op("", OpKind.RELEASE, "smem_ab"),))
    changed = edits.InsertNode(loop_of(gemm, "math"), 0, guard).apply(gemm)
    new = set(every_id(changed)) - set(every_id(gemm))
    assert len(new) == 2 and len(every_id(changed)) == len(set(every_id(changed)))
    with pytest.raises(EditError, match="already taken"):
        edits.InsertNode("math", 0, Op("load.00", OpKind.RELEASE, "smem_ab")).apply(gemm)


def test_delete_one_or_all_copies(gemm):
    fence = id_of(gemm, "math", OpKind.FENCE_PROXY_ASYNC)

    def fences(document):
        return sum(op.kind is OpKind.FENCE_PROXY_ASYNC for op in ops_of(find_task(document, "math")))

    assert fences(edits.DeleteNode(fence).apply(gemm)) == 3
    assert fences(edits.DeleteNode(fence, copies=True).apply(gemm)) == 0
    with pytest.raises(EditError, match="no operation"):
        edits.DeleteNode("math.999").apply(gemm)


def test_duplicate_has_ids_of_its_own(gemm):
    loop = loop_of(gemm, "load", "tile")
    changed = edits.DuplicateNode(loop).apply(gemm)
    assert len(edits.body_of(changed, "load")) == 2
    assert len(every_id(changed)) == len(set(every_id(changed)))


def test_wrap_and_unwrap_are_inverse(gemm):
    loop = loop_of(gemm, "load")
    chosen = tuple(ids(gemm, loop)[2:4])
    wrapped = edits.WrapNodes(chosen, Guard("load.wrap", GuardKind.ELECT_LANE, ())).apply(gemm)
    assert ids(wrapped, "load.wrap") == list(chosen)
    assert edits.UnwrapNode("load.wrap").apply(wrapped) == gemm
    with pytest.raises(EditError, match="neighbours"):
        edits.WrapNodes((ids(gemm, loop)[0], ids(gemm, loop)[2]), Guard("", GuardKind.ELECT_LANE, ())).apply(
            gemm
        )


def test_set_field(gemm):
    wait = id_of(gemm, "math", OpKind.GROUP_WAIT)
    assert find_node(edits.SetField(wait, "count", 0).apply(gemm), wait).node.count == 0
    store = id_of(gemm, "math", OpKind.WORK, "smem_c")
    changed = edits.SetField(store, "footprint", Footprint("range", 0, 64), copies=True).apply(gemm)
    assert sum(op.footprint is not None for op in ops_of(find_task(changed, "math"))) == 4
    loop = loop_of(gemm, "load")
    assert (
        find_node(edits.SetField(loop, "stop", Symbol("n") + 1).apply(gemm), loop).node.stop
        == Symbol("n") + 1
    )
    for id, field, value in (
        (wait, "count", -1),
        (wait, "count", "x"),
        (wait, "id", "y"),
        (loop, "stop", "k"),
    ):
        with pytest.raises(EditError):
            edits.SetField(id, field, value).apply(gemm)


def test_renaming_a_loop_renames_what_speaks_of_it(gemm):
    loop = loop_of(gemm, "math")
    changed = edits.SetField(loop, "var", "kk").apply(gemm)
    guard = next(n for n in edits.body_of(changed, loop) if isinstance(n, Guard))
    assert guard.loop == "kk"


def test_stages_of_pipeline_and_storage_go_together(gemm):
    changed = find_resource(edits.SetPipeline("smem_ab", "stages", 3).apply(gemm), "smem_ab")
    assert (changed.pipeline.stages, changed.storage.stages) == (3, 3)


@pytest.mark.parametrize(
    "edit",
    [
        edits.SetPipeline("smem_ab", "stages", 0),
        edits.SetPipeline("smem_ab", "stages", True),
        edits.SetPipeline("smem_ab", "producer_signal", "warp?"),
        edits.SetPipeline("acc", "stages", 2),
        edits.SetPipeline("nothing", "stages", 2),
        edits.SetStorage("acc", "bytes", 2),
        edits.SetStorage("smem_c", "bytes", -1),
        edits.SetTask("math", "num_warps", 0),
        edits.SetTask("math", "name", "x"),
        edits.SetTask("math", "src", ("nothing",)),
        edits.SetBarrier("epilogue", "threads", -5),
        edits.SetBarrier("nothing", "threads", 5),
        edits.SetDocument("cluster", (0, 1, 1)),
        edits.Add(NamedBarrier("smem_ab", 3, 64)),
        edits.Add(NamedBarrier("3x", 3, 64)),
        edits.Rename("nothing", "x"),
        edits.Rename("smem_ab", "acc"),
        edits.Remove("queue"),
        edits.AddTask(Task("math", 12, 1)),
        edits.RenameTask("math", "load"),
        edits.AddEdge("smem_ab", "acc"),
        edits.AddEdge("smem_ab", "nothing"),
        edits.RemoveEdge("acc", "smem_ab"),
        edits.SplitTask("load", (), "b", 9),
        edits.SplitTask("load", ("load_a", "load_b"), "b", 9),
        edits.SplitTask("load", ("coords",), "b", 9),
        edits.SplitTask("math", ("store",), "b", 9),
        edits.SplitTask("load", ("load_b",), "math", 9),
    ],
    ids=repr,
)
def test_what_does_not_fit_is_refused_in_words(gemm, edit):
    with pytest.raises(EditError) as error:
        edit.apply(gemm)
    assert len(str(error.value)) > 10


def test_values_are_set(gemm):
    assert find_resource(
        edits.SetPipeline("smem_ab", "consumer_signal", Signal.THREAD).apply(gemm), "smem_ab"
    ).pipeline.consumer_signal
    assert find_task(edits.SetTask("math", "num_registers", None).apply(gemm), "math").num_registers is None
    assert edits.SetBarrier("epilogue", "threads", 128).apply(gemm).barriers[0].threads == 128
    assert find_resource(edits.SetStorage("smem_c", "alias", "x").apply(gemm), "smem_c").storage.alias == "x"
    assert edits.SetDocument("target", "sm_100a").apply(gemm).target == "sm_100a"


def test_members_are_added_renamed_removed(gemm):
    added = edits.Add(AsyncGroup("other", "cp_async")).apply(gemm)
    assert [g.name for g in added.groups][-1] == "other"
    assert edits.Remove("other").apply(added) == gemm
    renamed = edits.Rename("smem_ab", "ring").apply(gemm)
    assert "smem_ab" not in repr(renamed) and edits.Rename("ring", "smem_ab").apply(renamed) == gemm
    queue = edits.Rename("queue", "tiles_queue").apply(gemm)
    assert find_node(queue, loop_of(queue, "math", "tile")).node.queue == "tiles_queue"
    without = edits.Remove("epilogue").apply(gemm)
    assert not edits.uses(without, "epilogue") and not without.barriers
    assert edits.RemoveTask("load").apply(gemm).tasks == gemm.tasks[1:]
    assert edits.RenameTask("load", "l").apply(gemm).tasks[0].body == gemm.tasks[0].body
    assert edits.RemoveEdge("acc", "smem_c").apply(gemm).graph == tuple(
        e for e in gemm.graph if e != Edge("acc", "smem_c")
    )


def test_removing_a_resource_takes_its_edges_and_uses_along(gemm):
    without = edits.Remove("smem_c").apply(gemm)
    assert not any("smem_c" in (e.upstream, e.downstream) for e in without.graph)
    assert "smem_c" not in find_task(without, "math").dst
    assert not edits.uses(without, "smem_c")


def describe(task):
    return [(op.work or op.kind.value, op.target) for op in ops_of(task)]


def test_split_load(gemm):
    split = edits.SplitTask("load", ("load_b",), "load_b", 9).apply(gemm)
    a, b = find_task(split, "load"), find_task(split, "load_b")
    bracket = [("acquire", "smem_ab"), ("commit", "smem_ab")]
    assert describe(a) == [
        ("coords", "gmem_a"),
        bracket[0],
        ("load_a", "smem_ab"),
        bracket[1],
        ("advance", "queue"),
    ]
    assert describe(b) == [
        ("coords", "gmem_b"),
        bracket[0],
        ("load_b", "smem_ab"),
        bracket[1],
        ("advance", "queue"),
    ]
    assert (a.src, b.src, b.dst) == (("queue", "gmem_a"), ("queue", "gmem_b"), ("smem_ab",))
    assert (b.warp_idx, b.num_warps, b.num_registers) == (9, 1, 40)
    assert len(every_id(split)) == len(set(every_id(split)))
    assert [op.id for op in ops_of(a)] == [
        op.id for op in ops_of(find_task(gemm, "load")) if op.id in every_id(split)
    ]
    assert [t.name for t in split.tasks] == ["load", "load_b", "math"]
    assert next(op for op in ops_of(b) if op.work == "load_b").args == (("coord", Token("coord_b")),)


def test_split_load_raises_declared_counts_only(gemm):
    split = edits.SplitTask("load", ("load_b",), "load_b", 9)
    assert find_resource(split.apply(gemm), "smem_ab").pipeline.producer_count is None
    declared = edits.SetPipeline("smem_ab", "producer_count", 1).apply(gemm)
    assert find_resource(split.apply(declared), "smem_ab").pipeline.producer_count == 2


def test_history_undoes_and_redoes_to_the_ends(gemm):
    other = edits.SetDocument("name", "other").apply(gemm)
    third = edits.SetDocument("name", "third").apply(gemm)
    start = History(gemm)
    history = start.push(other, "rename").push(third, "again")
    assert history.push(third) is history
    assert history.undo().undo() == History(gemm, (), (other, third), (), ("rename", "again"))
    assert history.undo().undo().undo().present == gemm
    assert history.undo().undo().redo().redo() == history == history.redo()
    assert history.undo().push(gemm).future == ()


def test_works_and_symbols(gemm):
    added = edits.AddWork("acc", Work("scale", "producer", Engine.WARP)).apply(gemm)
    assert [w.name for w in find_resource(added, "acc").works][-1] == "scale"
    assert edits.RemoveWork("acc", "scale").apply(added) == gemm
    without = edits.RemoveWork("acc", "mma").apply(gemm)
    assert not any(op.work == "mma" for op in ops_of(find_task(without, "math")))
    more = edits.SetSymbol("n", 2).apply(gemm)
    assert more.symbols[-1] == Symbol("n", 2) and edits.RemoveSymbol("n").apply(more) == gemm
    least = edits.SetSymbol("k_tiles", 3).apply(gemm)
    assert problem(least) is None and find_node(least, loop_of(least, "load")).node.stop == Symbol(
        "k_tiles", 3
    )
    for edit in (
        edits.AddWork("acc", Work("mma", "producer")),
        edits.AddWork("acc", Work("x", "both")),
        edits.RemoveWork("acc", "nothing"),
        edits.SetSymbol("3x"),
        edits.SetSymbol("k_tiles", -1),
        edits.RemoveSymbol("k_tiles"),
        edits.RemoveSymbol("nothing"),
    ):
        with pytest.raises(EditError):
            edit.apply(gemm)
