"""What the scan sees in bodies, and the annotation file that is drafted from it. Nothing of the scanned files runs."""

from dataclasses import replace
from pathlib import Path

import pytest

from warpdraft.backends.nvidia_ts.annotations import Barrier, loads_annotations
from warpdraft.backends.nvidia_ts.scanning.draft import draft
from warpdraft.backends.nvidia_ts.scanning.instructions import Access, Raw, in_ptx
from warpdraft.backends.nvidia_ts.scanning.scan import scan
from warpdraft.backends.nvidia_ts.scanning.sources import Sources, Unreadable
from warpdraft.core.document import (
    Document,
    Engine,
    Op,
    OpKind,
    Pipeline,
    Resource,
    Space,
    Task,
    Token,
    Work,
)

BODIES = Path(__file__).parent / "bodies"


def line(of, text):
    """Where ``text`` stands in file ``of``, the last time."""
    lines = (BODIES / of).read_text().splitlines()
    return f"{of}:{max(i for i, found in enumerate(lines, 1) if text in found)}"


def document(scans, warps=4, argument=None):
    """A document with one resource of each scanned class, whose works one task calls."""
    resources, ops = [], []
    for cls in dict.fromkeys(s.cls for s in scans):
        own = [s for s in scans if s.cls == cls]
        works = tuple(Work(s.work, s.role, auxiliary=s.auxiliary, parameters=s.parameters) for s in own)
        resources.append(Resource(cls.lower(), Space.SMEM, Pipeline(2), works=works, cls=f"kernel:{cls}"))
        args = (("tile", Token("t")),) if argument else ()
        ops += [Op(f"t.{cls}{i}", OpKind.WORK, cls.lower(), s.work, args) for i, s in enumerate(own)]
    return Document("d", resources=tuple(resources), tasks=(Task("t", 0, warps, tuple(ops)),))


@pytest.fixture(scope="module")
def scans():
    return scan(Sources(BODIES / "kernel.py"))


@pytest.fixture(scope="module")
def drafted(scans):
    made = draft(scans, [document(scans)], str(BODIES))
    found = loads_annotations(made.text)
    assert found == made.annotations
    return found


def synced(work):
    return [(s.op.value, s.at, s.count or 0) for s in work.sync]


@pytest.mark.parametrize(
    "work, engine",
    [
        ("smema.load", "tma"),  # a method of a base; the barrier of a bulk load
        ("smema.load_by_primitive", "tma"),  # a function of another file
        ("smema.load_by_threads", "cp_async"),  # an atom that the body makes
        ("smema.read", "warp"),
        ("accumulator.mma", "wgmma"),  # an attribute that another function gives
        ("accumulator.umma", "tcgen05"),
        ("smemc.put", "bulk_store"),  # an atom that is unpacked from a call and passed on
        ("smemc.unknown", None),
    ],
)
def test_engines(drafted, work, engine):
    assert drafted.works[work].engine == engine


def test_group_waits(drafted):
    works = drafted.works
    commit, wait = ("group_commit", "after", 0), ("group_wait_read", "after", 0)
    assert synced(works["smemc.put"]) == [commit] and not works["smemc.put"].undecided
    assert synced(works["smemc.put_and_wait"]) == [commit, wait]  # in a helper, with its argument
    assert not works["smemc.put_and_wait"].undecided  # the wait comes whenever the copy does
    assert synced(works["smema.load_by_threads"]) == [commit, ("group_wait", "after", 1)]


def test_a_wait_that_may_not_come_is_left_out(drafted):
    work = drafted.works["smemc.put_and_may_wait"]
    assert synced(work) == [("group_commit", "after", 0)]
    (why,) = work.undecided
    assert (
        why.startswith(line("kernel.py", "wait_group(0, read=True)"))
        and "only if cutlass.const_expr(self.cfg.waits)" in why
    )


def test_numbers_that_depend_on_a_branch_or_an_argument_are_not_known(drafted):
    work = drafted.works["smemc.put_and_wait_for_some"]
    assert synced(work) == [("group_commit", "after", 0)]
    assert len(work.undecided) == 2 and all("no constant" in u for u in work.undecided)


def test_barriers_and_fences(drafted):
    assert drafted.barriers == {"barrier_1": Barrier(1, 128), "barrier_2": Barrier(2, 128)}
    stage = drafted.works["smemc.stage_tile"]
    assert synced(stage) == [("fence_proxy_async", "after", 0), ("barrier_sync", "after", 0)]
    assert stage.sync[1].barrier == "barrier_1"
    assert synced(drafted.works["accumulator.meet"]) == [("barrier_sync", "before", 0)]  # an auxiliary work
    assert drafted.works["accumulator.mma"].sync[0].op is OpKind.WGMMA_FENCE


def test_what_is_not_decided_is_said(drafted):
    assert [u.partition(": ")[2] for u in drafted.works["smemc.unknown"].undecided] == [
        "cute.copy(self.cfg.atom, self.smem, self.gmem): its atom's operation was not found",
        "self.cfg.release_early() is not followed: its source was not found",
    ]
    assert "which bytes each warp writes" in drafted.works["smemc.stage_tile"].undecided[0]


def test_a_branch_on_a_constant_that_is_not_taken(scans):
    body = next(s for s in scans if s.work == "unknown")
    assert not [
        s for s in body.seen if not isinstance(s.what, Access)
    ]  # its barrier is under const_expr(False)


def test_one_warp_writes_all_of_its_stage(scans):
    found = draft(scans, [document(scans, warps=1)]).annotations
    assert not found.works["smemc.stage_tile"].undecided


def test_a_store_whose_source_is_routed(scans):
    def gmem(d):
        return replace(d, resources=tuple(replace(r, space=Space.GMEM) for r in d.resources))

    alone = draft(scans, [gmem(document(scans))]).annotations.works["smemc.put"]
    assert "which memory it reads is unknown" in alone.undecided[0]
    routed = draft(scans, [gmem(document(scans, argument="tile"))]).annotations.works["smemc.put"]
    assert not routed.undecided


def test_notes_name_file_and_line(scans):
    text = draft(scans, [document(scans)], str(BODIES)).text
    assert f"# {line('bodies_helpers.py', 'wait_group')} group_wait_read:" in text
    assert f"called at {line('kernel.py', 'drain(0)')}" in text


def test_recursion_and_a_file_that_is_no_python(tmp_path):
    path = tmp_path / "again.py"
    path.write_text(
        "class R:\n    @producer_work\n    def load(self, stage_info):\n        self.again()\n\n"
        "    def again(self):\n        self.again()\n"
    )
    (body,) = scan(Sources(path))
    assert "calls itself" in body.undecided[0].why
    path.write_text("class R(:\n")
    with pytest.raises(Unreadable, match=r"again\.py:1: "):
        Sources(path)


def test_inline_ptx():
    text = (
        "{ cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [{$r0}], [{$r1}]; cp.async.bulk.commit_group; "
        "cp.async.bulk.wait_group.read 2; }"
    )
    copy, commit, wait = in_ptx(text)
    assert copy[0] == Access(Engine.BULK_STORE) and commit[0].kind is OpKind.GROUP_COMMIT
    assert (wait[0].kind, wait[1]) == (OpKind.GROUP_WAIT_READ, 2)
    load = (
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [a], [b], [c];"
    )
    assert in_ptx(load) == [(Access(Engine.TMA), None)]
    assert isinstance(in_ptx("mbarrier.arrive.shared::cta.b64 _, [a];")[0][0], Raw)
    assert in_ptx("add.s32 %r1, %r2, %r3;") == []


def test_what_tensor_cores_are_given_stands_for_the_stage(scans):
    """A work that reads nothing itself is a view where only tensor cores take what it returns, and no read of threads."""

    def drafts(user):
        of = {(s.cls, s.work): s for s in scans}
        ring = Work("describe", "consumer", returns=("d",))
        user_of = Resource("acc", Space.TMEM, works=(Work(user[1], "producer"),), cls=f"kernel:{user[0]}")
        body = (
            Op("t.1", OpKind.WORK, "ring", "describe", results=("d",)),
            Op("t.2", OpKind.WORK, "acc", user[1], (("tile", Token("d")),)),
        )
        smem = Resource("ring", Space.SMEM, Pipeline(2), works=(ring,), cls="kernel:SmemA")
        known = Document("d", resources=(smem, user_of), tasks=(Task("t", 0, 1, body),))
        describe = replace(of["SmemA", "read"], work="describe", seen=[])
        return draft([*scans, describe], [known], str(BODIES)).annotations.works["ring.describe"]

    assert drafts(("Accumulator", "umma")).view and drafts(("Accumulator", "mma")).view
    read = drafts(("SmemA", "read"))
    assert not read.view and read.engine == "warp"


def test_threads_beside_copies_on_a_pipeline_of_threads(scans):
    """A body has both, and a compile-time condition chooses: the type of the pipeline says which."""
    of = {(s.cls, s.work): s for s in scans}
    both = replace(
        of["SmemA", "load_by_primitive"],
        seen=[*of["SmemA", "load_by_primitive"].seen, *of["SmemA", "read"].seen],
    )
    ring = Resource(
        "ring",
        Space.SMEM,
        Pipeline(2, "AsyncAsync"),
        works=(Work("load_by_primitive", "producer"),),
        cls="kernel:SmemA",
    )
    body = (Op("t.1", OpKind.WORK, "ring", "load_by_primitive"),)
    known = Document("d", resources=(ring,), tasks=(Task("t", 0, 1, body),))
    work = draft([both], [known], str(BODIES)).annotations.works["ring.load_by_primitive"]
    assert work.engine == "warp" and "on a pipeline that threads fill" in work.undecided[0]
